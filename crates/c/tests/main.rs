//! Tests of the C library: the header, the exported symbols, and programs in C and C++.

use lab::uml;

/// The tests that run under user-mode-linux, which cannot build their programs.
static UML: uml::Tests = uml::Tests::with_files(
    &[
        "documents::the_programs_of_the_guide_configure_the_network",
        "netlink::links_of_rare_kinds_are_created",
    ],
    || {
        documents::build_configuring_programs();
        netlink::build_kinds();
        Vec::new()
    },
);

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
