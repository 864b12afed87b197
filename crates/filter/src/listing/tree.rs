use crate::Filter;
use crate::language::Printed;
use crate::language::tree::Expression;
use std::fmt;

/// A filter's terms with their qualifiers as understood, indented; made by [`Filter::tree`].
#[derive(Clone, Copy)]
pub struct TreeListing<'a>(&'a Filter);

impl Filter {
    /// The filter as a tree, one term a line: `and`, `or` and `not` stand above what they join.
    ///
    /// Terms are in the language of pcap-filter(7), with the qualifiers that were left out: of
    /// `host a or b` the second term is `host b`.
    pub fn tree(&self) -> TreeListing<'_> {
        TreeListing(self)
    }
}

impl fmt::Display for TreeListing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &self.0.tree, 0)
    }
}

impl TreeListing<'_> {
    fn write(
        self,
        f: &mut fmt::Formatter<'_>,
        expression: &Expression,
        depth: usize,
    ) -> fmt::Result {
        write!(f, "{:width$}", "", width = 2 * depth)?;
        let (word, inner) = match expression {
            Expression::Term(_, part) => {
                let link = self.0.options.link;
                return writeln!(f, "{}", Printed { part, link });
            }
            Expression::All(inner) if inner.is_empty() => {
                return f.write_str("every packet\n");
            }
            Expression::Not(inner) => ("not", std::slice::from_ref(&**inner)),
            Expression::All(inner) => ("and", inner.as_slice()),
            Expression::Any(inner) => ("or", inner.as_slice()),
        };
        writeln!(f, "{word}")?;
        inner
            .iter()
            .try_for_each(|inner| self.write(f, inner, depth + 1))
    }
}
