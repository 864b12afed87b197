use super::token::{Span, Symbol, Token};
use super::words::Word;

/// What a parenthesis holds; of no meaning at other tokens.
#[derive(Clone, Copy, Default)]
pub(super) struct Group {
    /// The token that closes it.
    pub close: usize,
    /// Nothing but numbers, loads and operators is inside.
    pub is_arithmetic: bool,
}

/// Looks once through `tokens` and says of each opening parenthesis what it holds, so that the
/// parser never has to try.
pub(super) fn groups(tokens: &[(Token, Span)]) -> Vec<Group> {
    let mut groups = vec![Group::default(); tokens.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, (token, _)) in tokens.iter().enumerate() {
        match token {
            Token::Symbol(Symbol::Open) => open.push((at, true)),
            Token::Symbol(Symbol::Close) => {
                let Some((start, is_arithmetic)) = open.pop() else {
                    continue;
                };
                groups[start] = Group {
                    close: at,
                    is_arithmetic,
                };
                if let Some(outer) = open.last_mut() {
                    outer.1 &= is_arithmetic;
                }
            }
            _ => {
                if let Some(inner) = open.last_mut() {
                    let behind = tokens.get(at + 1).map(|behind| &behind.0);
                    inner.1 &= is_arithmetic(token, behind);
                }
            }
        }
    }
    groups
}

fn is_arithmetic(token: &Token, behind: Option<&Token>) -> bool {
    match token {
        Token::Number(_) | Token::Word(Word::Length) => true,
        Token::Word(Word::Protocol(_)) => behind == Some(&Token::Symbol(Symbol::OpenIndex)),
        Token::Symbol(symbol) => !matches!(
            symbol,
            Symbol::Not
                | Symbol::AndAlso
                | Symbol::OrElse
                | Symbol::Less
                | Symbol::LessEqual
                | Symbol::Greater
                | Symbol::GreaterEqual
                | Symbol::Equal
                | Symbol::NotEqual
        ),
        _ => false,
    }
}
