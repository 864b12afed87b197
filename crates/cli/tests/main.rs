//! Tests of this crate: one program, one module for each subject.

mod support;

use std::path::PathBuf;

use lab::guest::GuestFile;
use lab::{uml, vm};

/// The tests that run under user-mode-linux.
static UML: uml::Tests = uml::Tests::named(&[
    "documents::commands_for_bridges_with_vlans_do_what_they_say",
    "net_kinds::",
    "net_vlan::",
    "old_kernel::",
]);

/// The tests that run under a newer kernel in QEMU.
static VM: vm::Tests = vm::Tests::with_files(&["hwtstamp::"], || {
    vec![GuestFile {
        host: PathBuf::from(support::PROGRAM),
        guest: support::PROGRAM,
    }]
});

mod capture_account;
mod capture_failures;
mod capture_files;
mod capture_filter;
mod capture_index;
mod capture_metrics;
mod capture_netns;
mod capture_options;
mod capture_output;
mod capture_reader_choice;
mod capture_readers;
mod capture_ringbuf;
mod capture_sample;
mod capture_signals;
mod capture_sockets;
mod capture_stopped_readers;
mod capture_usage;
mod capture_who;
mod closed_output;
mod columns;
mod coming_from_ip;
mod control;
mod control_groups;
mod control_interfaces;
mod count_figures;
mod count_links;
mod count_text;
mod count_usage;
mod demo;
mod doctor;
mod doctor_fix;
mod documents;
mod drop_failures;
mod drop_mode;
mod drop_ways;
mod error_lines;
mod ethtool;
mod extcap;
mod faults;
mod filter_file;
mod filter_forms;
mod filter_packets;
mod filters_of_all;
mod flows;
mod flows_ipfix;
mod flows_kafka;
mod hwtstamp;
mod index;
mod latency;
mod metrics;
mod net_absent;
mod net_addr;
mod net_batch;
mod net_bridge;
mod net_flags;
mod net_forms;
mod net_json;
mod net_kinds;
mod net_like_ip;
mod net_link;
mod net_maddr;
mod net_netns;
mod net_random;
mod net_refusals;
mod net_tables;
mod net_tuntap;
mod net_vlan;
mod net_words;
mod objects;
mod objects_failures;
mod objects_services;
mod old_kernel;
mod output_files;
mod packet_lines;
mod ping_bounds;
mod ping_changes;
mod ping_json;
mod ping_live;
mod ping_metrics;
mod ping_names;
mod ping_paths;
mod ping_respond;
mod ping_text;
mod ping_usage;
mod ping_xdp;
mod ping_xdp_errors;
mod ping_xdp_forms;
mod ping_xdp_refusals;
mod read_anonymize;
mod read_convert;
mod read_damage;
mod read_edit;
mod read_filter;
mod read_lines;
mod read_pipes;
mod read_rotation;
mod read_summary;
mod read_whole;
mod readers_control;
mod readers_recorder;
mod recorder;
mod report;
mod report_of_runs;
mod rpcap;
mod rpcap_failures;
mod run;
mod sandbox;
mod send;
mod send_changes;
mod send_errors;
mod send_generate;
mod send_split;
mod send_stamps;
mod service;
mod soak;
mod tls_secrets;
mod tunnels;
mod user;
mod without_bpf;
