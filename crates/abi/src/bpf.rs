//! The bpf(2) system call.
