use super::condition::Condition;

/// `condition` without its sets: holds for every packet that `condition` holds for, and for more.
///
/// Behind a set that is not asked, nothing is asked any more that could miss its bytes and refuse a
/// packet that another alternative accepts. Where a set decides whether a tunnel is looked for, what
/// follows would look for its headers at places that nobody has found: then all packets are let through.
pub(crate) fn widen(condition: Condition) -> Condition {
    let decides = match &condition {
        Condition::All(terms) => terms.iter().any(decides_variables),
        other => decides_variables(other),
    };
    if decides {
        return Condition::Constant(true);
    }
    Widening {
        is_wider: true,
        is_last: true,
    }
    .apply(condition)
}

#[derive(Clone, Copy)]
struct Widening {
    /// The result is to hold more often; else, below a negation, less often.
    is_wider: bool,
    /// Where the result does not go the filter's way, the packet is refused: no alternative is left.
    is_last: bool,
}

impl Widening {
    fn apply(self, condition: Condition) -> Condition {
        let otherwise = Self {
            is_wider: !self.is_wider,
            ..self
        };
        match condition {
            Condition::Member(_) => Condition::Constant(self.is_wider),
            Condition::Not(inner) => otherwise.apply(*inner).negate(),
            Condition::All(terms) if self.is_wider => Condition::all(self.together(terms)),
            Condition::All(terms) => Condition::all(self.alternatives(terms)),
            Condition::Any(terms) if self.is_wider => Condition::any(self.alternatives(terms)),
            Condition::Any(terms) => Condition::any(self.together(terms)),
            Condition::Choice(value, cases) => {
                let cases = cases.into_iter();
                let cases = cases.map(|(constant, rest)| (constant, self.apply(rest)));
                Condition::Choice(value, cases.collect())
            }
            other => other,
        }
    }

    /// Terms that all have to go the filter's way.
    fn together(self, mut terms: Vec<Condition>) -> Vec<Condition> {
        if !self.is_last
            && let Some(first) = terms.iter().position(has_set)
        {
            terms.truncate(first + 1);
        }
        terms.into_iter().map(|term| self.apply(term)).collect()
    }

    /// Terms one of which has to go the filter's way.
    fn alternatives(self, terms: Vec<Condition>) -> Vec<Condition> {
        let last = terms.len().saturating_sub(1);
        let widened = terms.into_iter().enumerate().map(|(place, term)| {
            let is_last = self.is_last && place == last;
            Self { is_last, ..self }.apply(term)
        });
        widened.collect()
    }
}

/// Whether a set stands before something that writes variables, which is asked or not as the set says.
fn decides_variables(condition: &Condition) -> bool {
    match condition {
        Condition::Not(inner) => decides_variables(inner),
        Condition::All(terms) | Condition::Any(terms) => {
            let behind = terms.iter().skip_while(|term| !has_set(term)).skip(1);
            let writes = behind.into_iter().any(Condition::sets_variables);
            writes || terms.iter().any(decides_variables)
        }
        Condition::Choice(_, cases) => cases.iter().any(|case| decides_variables(&case.1)),
        _ => false,
    }
}

fn has_set(condition: &Condition) -> bool {
    match condition {
        Condition::Member(_) => true,
        Condition::Constant(_) | Condition::Test(_) | Condition::Let(..) => false,
        Condition::Not(inner) => has_set(inner),
        Condition::All(terms) | Condition::Any(terms) => terms.iter().any(has_set),
        Condition::Choice(_, cases) => cases.iter().any(|case| has_set(&case.1)),
    }
}
