//! Filters as XDP programs: the kernel's verifier and its test-run against the interpreter of graphs and
//! the values of libpcap's test-suite.

use crate::filters::{corpus_filters, corpus_values, longest_chain};
use tapline_filter::FilterTarget;

#[test]
fn every_filter_of_the_corpus_gives_what_the_interpreter_gives() {
    let (filters, runs) = corpus_filters(FilterTarget::Xdp);
    println!("{filters} filters, {runs} runs");
    assert!(filters > 250 && runs > 100_000, "{filters}, {runs}");
}

#[test]
fn every_filter_with_listed_values_gives_them() {
    let (filters, runs) = corpus_values(FilterTarget::Xdp);
    println!("{filters} filters, {runs} runs");
    assert!(filters > 100 && runs > 1000, "{filters}, {runs}");
}

#[test]
fn a_chain_of_500_headers_is_accepted_by_the_verifier() {
    longest_chain(FilterTarget::Xdp);
}
