//! Features under an older kernel: it accepts the programs that count streams and those of captures, and sends through
//! AF_XDP.

use tapline::count::{CountDirection, IngressHook, XdpAttachMode};

use tapline::send::SendPath;

use crate::OLDER_VM;
use crate::capture::{drop, ringbuf};
use crate::count::stamps;
use crate::send::paths;

#[test]
fn stamps_are_found() {
    if OLDER_VM.has_run() {
        return;
    }
    for mode in [XdpAttachMode::Native, XdpAttachMode::Generic] {
        stamps::count_streams(CountDirection::In, IngressHook::Xdp(mode));
    }
}

#[test]
fn what_matches_is_taken() {
    if !OLDER_VM.has_run() {
        drop::mode::what_matches_is_taken_and_the_stack_sees_the_others();
    }
}

#[test]
fn what_matches_is_copied() {
    if !OLDER_VM.has_run() {
        ringbuf::what_matches_is_copied_and_the_stack_sees_everything();
    }
}

#[test]
fn frames_that_a_device_drops_are_sent_again() {
    if !OLDER_VM.has_run() {
        paths::send_to_a_thread(SendPath::Xdp);
    }
}
