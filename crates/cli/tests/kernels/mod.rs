//! Other kernels and devices: in user-mode-linux, in QEMU, or simulated.

mod hwtstamp;
mod old_kernel;
mod without_bpf;
