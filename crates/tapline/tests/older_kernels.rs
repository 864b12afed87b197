//! Programs that the verifier of an older kernel has to accept too: those that count streams, and those of captures.

use tapline::count::{CountDirection, IngressHook, XdpAttachMode};

use crate::{OLDER_VM, count_stamps, drop, ringbuf};

#[test]
fn stamps_are_found() {
    if OLDER_VM.has_run() {
        return;
    }
    for mode in [XdpAttachMode::Native, XdpAttachMode::Generic] {
        count_stamps::count_streams(CountDirection::In, IngressHook::Xdp(mode));
    }
}

#[test]
fn what_matches_is_taken() {
    if !OLDER_VM.has_run() {
        drop::what_matches_is_taken_and_the_stack_sees_the_others();
    }
}

#[test]
fn what_matches_is_copied() {
    if !OLDER_VM.has_run() {
        ringbuf::what_matches_is_copied_and_the_stack_sees_everything();
    }
}
