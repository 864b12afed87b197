//! Checks with `ip` that closed AF_XDP rings leave nothing on an interface.

use crate::support;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::Stdio;

use crate::support::xsk_rings::{PLACES, RingSetup, XskRings, attach, duplicate, open, steer};
use crate::support::{BROADCAST, bytes_of, collect, frame, send};
use lab::bpf::{XdpAttachMode, XdpLink, XskProgram, XskProgramOptions};
use lab::{Host, Net, rerun, wait};
use tapline_ring::{TpacketVersion, XdpRing, XdpRingOptions};

/// Whether `ip` shows an XDP program on the host's first interface.
#[track_caller]
fn has_program(host: &Host) -> bool {
    let name = host.interface().name.to_string();
    let text = host.ip(&format!("-json -d link show {name}"));
    assert!(text.contains(&name), "{text}");
    text.contains("\"xdp\":")
}

/// Waits until the program is gone: it stays while another process that lists BPF links holds its link for a moment.
#[track_caller]
fn until_no_program(host: &Host) {
    wait::until("the program is gone", || !has_program(host));
}

/// Sends a frame and receives it from the stack.
#[track_caller]
fn assert_flows_into_the_stack(left: &Host, right: &Host) {
    let mut stack = support::open(right, &support::options(TpacketVersion::V3));
    send(left, &[frame(BROADCAST, 77)]);
    assert_eq!(bytes_of(collect(&mut stack, 1)), [frame(BROADCAST, 77)]);
}

#[test]
fn a_dropped_ring_takes_its_program_along() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        assert!(!has_program(&right));
        let XskRings {
            mut rings,
            redirect,
        } = steer(&right, &RingSetup::new(place, 256));
        assert!(has_program(&right));
        send(&left, &[frame(BROADCAST, 60)]);
        assert_eq!(bytes_of(collect(&mut rings[0], 1)), [frame(BROADCAST, 60)]);
        drop(rings);
        until_no_program(&right);
        assert_flows_into_the_stack(&left, &right);
        assert_eq!(redirect.counters().unwrap().delivered, 1);
        // The queue is free again.
        drop(steer(&right, &RingSetup::new(place, 256)));
        until_no_program(&right);
    }
}

#[test]
fn a_stopped_ring_keeps_what_it_has() {
    let [left, right] = Net::new().pair();
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, 256));
    send(&left, &[frame(BROADCAST, 60)]);
    support::wait(steered.ring());
    steered.ring().stop();
    until_no_program(&right);
    assert_flows_into_the_stack(&left, &right);
    assert_eq!(bytes_of(collect(steered.ring(), 1)), [frame(BROADCAST, 60)]);
    steered.ring().refresh().unwrap();
    assert_eq!(steered.ring().counters().accepted, 1);
}

#[test]
fn the_last_of_several_rings_takes_the_program_along() {
    let [_left, right] = Net::new().pair();
    let redirect = XskProgram::load(&XskProgramOptions::new(2)).unwrap();
    let link = attach(&right, &redirect, XdpAttachMode::Native);
    let mut first = open(&right, &RingSetup::new(XdpAttachMode::Native, 256).ring);
    first.keep(duplicate(&link));
    let second = duplicate(&link);
    drop(link);
    drop(first);
    assert!(has_program(&right));
    drop(second);
    until_no_program(&right);
}

/// Passes the interface to the process that will be killed.
const VICTIM: &str = "TAPLINE_RING_VICTIM";

/// Reruns itself on the host as a separate process, which is killed while packets arrive.
#[test]
fn a_killed_process_leaves_nothing_behind() {
    if let Ok(link) = std::env::var(VICTIM) {
        be_killed(&link);
    }
    for place in ["native", "generic"] {
        let [left, right] = Net::new().pair();
        let link = format!(
            "{} {} {place}",
            right.interface().name,
            right.interface().index.0
        );
        let mut command = right.command(rerun::program().to_str().unwrap());
        command
            .args(rerun::arguments())
            .env(VICTIM, link)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(
            lines.any(|line| line.unwrap().ends_with("ready")),
            "the child is ready"
        );
        assert!(has_program(&right));
        send(&left, &[frame(BROADCAST, 60)]);
        assert!(lines.any(|line| line.unwrap().ends_with("received 60")));
        // SIGKILL: the child can do nothing about it.
        child.kill().unwrap();
        child.wait().unwrap();
        until_no_program(&right);
        assert_flows_into_the_stack(&left, &right);
        drop(steer(&right, &RingSetup::new(XdpAttachMode::Native, 256)));
    }
}

/// Receives until it is killed or its standard input is closed.
fn be_killed(link: &str) -> ! {
    let [name, index, place] = *link.split(' ').collect::<Vec<_>>() else {
        panic!("{link}");
    };
    let place = match place {
        "native" => XdpAttachMode::Native,
        _ => XdpAttachMode::Generic,
    };
    let mut ring = XdpRing::open(name, &XdpRingOptions::default()).unwrap();
    let options = XskProgramOptions {
        multi_buffer: true,
        ..XskProgramOptions::new(1)
    };
    let redirect = XskProgram::load(&options).unwrap();
    redirect.insert(0, ring.as_fd()).unwrap();
    let attached = XdpLink::attach(redirect.program(), index.parse().unwrap(), place).unwrap();
    ring.keep(duplicate(&attached));
    println!("ready");
    let [packet] = &collect(&mut ring, 1)[..] else {
        panic!("one packet");
    };
    println!("received {}", packet.bytes.len());
    std::io::stdin().lines().next();
    std::process::exit(1);
}

#[test]
fn an_interface_that_is_removed_is_reported_on_request_and_what_came_before_stays() {
    let [left, right] = Net::new().pair();
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, 256));
    send(&left, &[frame(BROADCAST, 60)]);
    support::wait(steered.ring());
    assert!(steered.ring().take_error().is_ok());
    right.ip(&format!("link del {}", right.interface().name));
    let error = steered.ring().take_error().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN));
    assert_eq!(bytes_of(collect(steered.ring(), 1)), [frame(BROADCAST, 60)]);
    steered.ring().refresh().unwrap();
    assert_eq!(
        (
            steered.ring().counters().accepted,
            steered.ring().counters().waiting()
        ),
        (1, 0)
    );
    assert!(steered.ring().next_batch().is_none());
}
