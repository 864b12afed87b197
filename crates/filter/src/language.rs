//! Text of pcap-filter(7) to a tree.

mod arithmetic;
mod groups;
mod ids;
mod lexer;
mod names;
mod parser;
mod print;
mod qualifiers;
mod terms;
pub(crate) mod token;
pub(crate) mod tree;
mod words;

pub(crate) use lexer::{lex, parse_number};
pub(crate) use parser::Parser;
pub(crate) use print::{Printed, link_word, sign};
pub(crate) use words::nearest;
