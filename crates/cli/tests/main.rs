//! Tests of this crate: one program, one module for each subject.

mod support;

use std::path::PathBuf;

use lab::guest::GuestFile;
use lab::{uml, vm};

/// The tests that run under user-mode-linux.
static UML: uml::Tests = uml::Tests::named(&[
    "documents::commands_for_bridges_with_vlans_do_what_they_say",
    "net::kinds::",
    "net::vlan::",
    "kernels::old_kernel::",
]);

/// The tests that run under a newer kernel in QEMU.
static VM: vm::Tests = vm::Tests::with_files(&["kernels::hwtstamp::"], || {
    vec![GuestFile {
        host: PathBuf::from(support::PROGRAM),
        guest: support::PROGRAM,
    }]
});

mod capture;
mod columns;
mod control;
mod count;
mod demo;
mod doctor;
mod doctor_fix;
mod documents;
mod ethtool;
mod every_command;
mod extcap;
mod faults;
mod filter;
mod flows;
mod kernels;
mod latency;
mod net;
mod object_storage;
mod ping;
mod read;
mod report;
mod report_of_runs;
mod rpcap;
mod run;
mod sandbox;
mod send;
mod service;
mod soak;
