//! Other transports than the kernel: a fake kernel, and recorded datagrams with faults.

mod fake;
mod faults;
