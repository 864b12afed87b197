//! Tests of this crate: one program, one module for each subject.

mod tshark;

mod build;
mod corpus;
mod decode;
mod headers;
