//! eBPF: a typed assembler, loading, maps and the programs tapline attaches

#![forbid(unsafe_code)]
