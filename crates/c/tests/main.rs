//! Tests of the C library: the header, the exported symbols, and programs in C and C++.

mod abi;
mod capture;
mod documents;
mod examples;
mod header;
mod headers;
mod install;
mod jobs;
mod misuse;
mod netlink;
mod netlink_encoders;
mod netlink_json;
mod netlink_messages;
mod netlink_numbers;
mod netlink_tables;
mod netlink_types;
mod python;
mod service;
mod settings;
mod support;
