//! The jobs of tapline put together from its rooms

#![forbid(unsafe_code)]
