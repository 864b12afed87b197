//! Test hosts in namespaces, traffic and reference engines for the tests of tapline

#![forbid(unsafe_code)]
