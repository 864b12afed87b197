//! Packet filters: classic BPF programs, read, checked and run

#![forbid(unsafe_code)]
