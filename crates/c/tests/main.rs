//! Tests of the C library: the header, the exported symbols, and programs in C and C++.

mod capture;
mod header;
mod netlink;
mod netlink_types;
mod support;
