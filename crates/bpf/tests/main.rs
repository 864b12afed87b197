//! All tests of this crate in one program, with one module per subject.

extern crate filter as tapline_filter;

mod filters;
mod objects;
mod support;

mod choice;
mod count_filters;
mod echo;
mod ends;
mod filter_arithmetic;
mod filter_attach;
mod filter_hooks;
mod filter_lists;
mod mirror;
mod packet_socket;
mod sampling;
mod slot_program;
mod soak;
mod socket_filter;
mod table;
mod tc_clsact;
mod tc_replace;
mod xdp;
mod xsk;
