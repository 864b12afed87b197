//! Conditions as expressions of the language that say the same by testing bytes.

use crate::LinkType;
use crate::graph::condition::Condition;
use crate::graph::values::{Value, ValueId, Values};
use crate::language::link_word;
use crate::listing::value::Notation;
use std::fmt::Write;

/// The condition as an expression; `None` if the language has none for it.
///
/// `is_inner` puts it into parentheses if it has several terms. Offsets are counted from where
/// `ether[0]` is, which has to be the packet's start.
pub(super) fn expression(
    condition: &Condition,
    values: &Values,
    link: LinkType,
    is_inner: bool,
) -> Option<String> {
    let mut text = String::new();
    let notation = Notation {
        values,
        packet: link_word(link),
    };
    write(&mut text, condition, notation, is_inner)?;
    Some(text)
}

fn write(
    text: &mut String,
    condition: &Condition,
    notation: Notation<'_>,
    is_inner: bool,
) -> Option<()> {
    let (word, terms) = match condition {
        Condition::Constant(true) => return write!(text, "0 == 0").ok(),
        Condition::Constant(false) => return write!(text, "0 == 1").ok(),
        Condition::Test(test) => {
            if !has_words(test.left, notation.values) || !has_words(test.right, notation.values) {
                return None;
            }
            return write!(text, "{}", notation.test(*test, true)).ok();
        }
        Condition::Not(inner) => match &**inner {
            Condition::Test(test) => {
                if !has_words(test.left, notation.values) || !has_words(test.right, notation.values)
                {
                    return None;
                }
                return write!(text, "{}", notation.test(*test, false)).ok();
            }
            inner => {
                text.push_str("not ");
                return write(text, inner, notation, true);
            }
        },
        Condition::All(terms) => (" and ", terms),
        Condition::Any(terms) => (" or ", terms),
        Condition::Let(..) | Condition::Choice(..) | Condition::Member(_) => return None,
    };
    if is_inner {
        text.push('(');
    }
    for (at, term) in terms.iter().enumerate() {
        if at > 0 {
            text.push_str(word);
        }
        write(text, term, notation, true)?;
    }
    if is_inner {
        text.push(')');
    }
    Some(())
}

/// Whether the language can say the value: it has no variables, and no words for most of what is
/// known beside the bytes.
fn has_words(id: ValueId, values: &Values) -> bool {
    if values.variables(id) != 0 {
        return false;
    }
    match values.get(id) {
        Value::Constant(_) | Value::Length | Value::HeaderLength(_) => true,
        Value::Load { base, .. } => base.is_none_or(|base| has_words(base, values)),
        Value::Negate(operand) => has_words(operand, values),
        Value::Binary(_, left, right) => has_words(left, values) && has_words(right, values),
        Value::Ancillary(..) | Value::Variable(_) => false,
    }
}
