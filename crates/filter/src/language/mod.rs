//! Text of pcap-filter(7) to a syntax tree.

mod arithmetic;
pub(crate) mod lexer;
pub(crate) mod parser;
mod primitives;
pub(crate) mod print;
pub(crate) mod similar;
pub(crate) mod tree;
pub(crate) mod words;
