//! Tests of the libpcap door: the same programs with libpcap and with this library.

mod abi;
mod files;
mod filters;
mod guide;
mod programs;
mod scenarios;
mod support;
mod tools;
