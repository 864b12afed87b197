//! All tests of this crate in one program, with one module per subject.

mod support;

mod alone;
mod bpf;
mod divide;
mod soak;
mod tpacket;
mod xdp;
