//! The border to C: structs, strings and streams of the program, panics, and `pthread_cancel`.

pub mod abi;
pub mod cancel;
pub mod guard;
pub mod stream;
pub mod text;
