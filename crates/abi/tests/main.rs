//! Tests of this crate: one program, one module for each subject.

mod c_layout;

mod bpf_layout;
mod packet_layout;
mod xdp_layout;
