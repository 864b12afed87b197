//! Filters as XDP and tc programs: compares the kernel's test run with the interpreter and with the values of libpcap's
//! test suite.

use crate::filters::{corpus_filters, corpus_values, longest_chain};
use tapline_filter::FilterTarget;

/// Hooks, and the minimum number of corpus filters for each.
const HOOKS: [(FilterTarget, usize); 3] = [
    (FilterTarget::Xdp, 250),
    (FilterTarget::TcIngress, 240),
    (FilterTarget::TcEgress, 240),
];

#[test]
fn every_filter_of_the_corpus_gives_what_the_interpreter_gives() {
    for (at, least) in HOOKS {
        let (filters, runs) = corpus_filters(at);
        println!("{at}: {filters} filters, {runs} runs");
        assert!(filters > least && runs > 100_000, "{filters}, {runs}");
    }
}

#[test]
fn every_filter_with_listed_values_gives_them() {
    for at in [FilterTarget::Xdp, FilterTarget::TcIngress] {
        let (filters, runs) = corpus_values(at);
        println!("{at}: {filters} filters, {runs} runs");
        assert!(filters > 100 && runs > 1000, "{filters}, {runs}");
    }
}

#[test]
fn a_chain_of_500_headers_is_accepted_by_the_verifier() {
    for at in [FilterTarget::Xdp, FilterTarget::TcIngress] {
        longest_chain(at);
    }
}
