//! tc programs that replace others or precede them.

use crate::support::{self, read_counter as counted};
use lab::generator::{send_frames, udp_frame};
use lab::rerun::has_run_alone;
use lab::{Host, Net};
use tapline_bpf::{Map, Program, TcAttachMethod, TcHook, TcLink};

const NEXT: i32 = -1;
const PASS: i32 = 0;

/// A program that counts the test's frames, which are 777 bytes long, and returns `verdict`.
fn counting(counter: &Map, verdict: i32) -> Program {
    support::counting_tc(counter, Some(777), verdict)
}

fn send(host: &Host, count: usize) {
    let frames = vec![udp_frame(777); count];
    host.run(|| send_frames(host.interface().index, frames).unwrap());
}

/// Alone: a process that another test just starts holds a copy of the link, with which the program stays attached.
#[test]
fn a_program_takes_the_place_of_another_by_tcx_and_by_clsact() {
    if has_run_alone() {
        return;
    }
    for way in [TcAttachMethod::Tcx, TcAttachMethod::Clsact] {
        let [left, _right] = Net::new().pair();
        let index = left.interface().index.0;
        let counters = [(); 2].map(|()| Map::value("tapline_test", 8).unwrap());
        let [first, second] = [0, 1].map(|at| counting(&counters[at], NEXT));
        let attached = left.run(|| TcLink::attach_by(way, &first, index, TcHook::Egress));
        let mut link = attached.unwrap();
        assert_eq!(link.is_clsact(), way == TcAttachMethod::Clsact);
        send(&left, 5);
        link.replace(&second).unwrap();
        send(&left, 7);
        assert_eq!([0, 1].map(|at| counted(&counters[at])), [5, 7], "{way:?}");
        drop(link);
        send(&left, 11);
        assert_eq!([0, 1].map(|at| counted(&counters[at])), [5, 7], "{way:?}");
    }
}

#[test]
fn the_first_program_meets_what_others_do_not_pass_on() {
    let [left, _right] = Net::new().pair();
    let index = left.interface().index.0;
    let counters = [(); 3].map(|()| Map::value("tapline_test", 8).unwrap());
    let [before, ends, after] = [(0, NEXT), (1, PASS), (2, NEXT)];
    let program = |(at, verdict): (usize, i32)| counting(&counters[at], verdict);
    let _links = left.run(|| {
        [
            TcLink::attach(&program(ends), index, TcHook::Egress).unwrap(),
            TcLink::attach(&program(after), index, TcHook::Egress).unwrap(),
            TcLink::attach_first(&program(before), index, TcHook::Egress).unwrap(),
        ]
    });
    send(&left, 9);
    assert_eq!([0, 1, 2].map(|at| counted(&counters[at])), [9, 9, 0]);
}
