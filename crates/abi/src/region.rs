//! Memory shared with the kernel.
