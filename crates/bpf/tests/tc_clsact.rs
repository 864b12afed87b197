//! tc programs attached by clsact, checked with tc(8) and known numbers of packets.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use crate::support::{self, read_counter as read};
use lab::generator::{pin_to_cpu, send_frames, udp_frame};
use lab::{Host, Net, rerun};
use tapline_bpf::{Insn, Map, Program, ProgramKind, Reg, TcAttachMethod, TcHook, TcLink};

/// A program that counts a packet and passes it to the next program.
fn counting(counter: &Map) -> Program {
    support::counting_tc(counter, None, -1)
}

fn counter() -> Map {
    Map::value("tapline_test", 8).unwrap()
}

/// What tc(8) prints on `host`.
fn tc(host: &Host, arguments: &str) -> String {
    let output = host.run(|| {
        Command::new("tc")
            .args(arguments.split(' ').map(|word| word.replace('|', " ")))
            .output()
            .unwrap()
    });
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Number of our filters, and whether a clsact qdisc exists.
fn shown(host: &Host) -> ([usize; 2], bool) {
    let name = host.interface().name;
    let filters = ["ingress", "egress"].map(|place| {
        let text = tc(host, &format!("filter show dev {name} {place}"));
        text.matches("tapline-tc/").count()
    });
    let qdiscs = tc(host, &format!("qdisc show dev {name}"));
    (filters, qdiscs.contains("clsact"))
}

fn attach(host: &Host, program: &Program, place: TcHook) -> TcLink {
    let index = host.interface().index.0;
    let link =
        host.run(|| TcLink::attach_by(TcAttachMethod::Clsact, program, index, place).unwrap());
    assert!(link.is_clsact());
    link
}

fn send(from: &Host, count: usize) {
    from.run(|| {
        pin_to_cpu(0).unwrap();
        send_frames(from.interface().index, vec![udp_frame(100); count]).unwrap();
    });
}

#[test]
fn every_packet_meets_all_programs_of_its_direction_and_drop_detaches() {
    let [left, right] = Net::new().pair();
    let counters = [(); 3].map(|()| counter());
    let [first, second, out] = [0, 1, 2].map(|at| counting(&counters[at]));
    let first = attach(&right, &first, TcHook::Ingress);
    let second = attach(&right, &second, TcHook::Ingress);
    let out = attach(&left, &out, TcHook::Egress);
    assert_eq!(shown(&right), ([2, 0], true));
    assert_eq!(shown(&left), ([0, 1], true));
    send(&left, 17);
    drop(first);
    assert_eq!(shown(&right), ([1, 0], true));
    send(&left, 5);
    drop((second, out));
    assert_eq!(shown(&right), ([0, 0], false));
    assert_eq!(shown(&left), ([0, 0], false));
    send(&left, 3);
    assert_eq!(counters.each_ref().map(read), [17, 22, 22]);
}

#[test]
fn what_others_put_there_stays() {
    let [left, right] = Net::new().pair();
    let name = right.interface().name;
    tc(&right, &format!("qdisc add dev {name} clsact"));
    let counter = counter();
    let program = counting(&counter);
    drop(attach(&right, &program, TcHook::Egress));
    assert_eq!(shown(&right), ([0, 0], true), "the discipline is not ours");
    tc(&right, &format!("qdisc del dev {name} clsact"));

    let link = attach(&right, &program, TcHook::Ingress);
    // A filter of another name, which tc(8) takes as a classic program.
    let other = format!("filter add dev {name} ingress bpf bytecode 1,6|0|0|0");
    tc(&right, &other);
    send(&left, 7);
    assert_eq!(read(&counter), 7);
    drop(link);
    assert_eq!(
        shown(&right),
        ([0, 0], true),
        "a filter of another is on it"
    );
    let kept = tc(&right, &format!("filter show dev {name} ingress"));
    assert!(kept.contains("bytecode"), "{kept}");
}

#[test]
fn an_ingress_discipline_takes_no_egress_program() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name;
    tc(&right, &format!("qdisc add dev {name} ingress"));
    let counter = counter();
    let program = counting(&counter);
    let index = right.interface().index.0;
    let refused =
        right.run(|| TcLink::attach_by(TcAttachMethod::Clsact, &program, index, TcHook::Egress));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("tc qdisc del dev"), "{text}");
    drop(attach(&right, &program, TcHook::Ingress));
    assert!(tc(&right, &format!("qdisc show dev {name}")).contains("ingress"));
}

#[test]
fn a_program_of_another_kind_is_refused_and_leaves_nothing() {
    let [_left, right] = Net::new().pair();
    let code = [Insn::mov32(Reg::R0, 2), Insn::Exit];
    let xdp = Program::load(ProgramKind::Xdp, "tapline_test", &code).unwrap();
    let index = right.interface().index.0;
    let refused =
        right.run(|| TcLink::attach_by(TcAttachMethod::Clsact, &xdp, index, TcHook::Ingress));
    assert_eq!(
        refused.unwrap_err().source.raw_os_error(),
        Some(22),
        "EINVAL"
    );
    assert_eq!(shown(&right), ([0, 0], false));
}

#[test]
fn a_missing_interface_is_named() {
    let host = Host::new("alone");
    let counter = counter();
    let program = counting(&counter);
    for way in [
        TcAttachMethod::Tcx,
        TcAttachMethod::Clsact,
        TcAttachMethod::TcxOrClsact,
    ] {
        let refused = host.run(|| TcLink::attach_by(way, &program, 4711, TcHook::Ingress));
        let error = refused.unwrap_err();
        assert_eq!(error.source.raw_os_error(), Some(19), "ENODEV");
        let text = "cannot attach tc program to ingress of interface 4711";
        assert_eq!(error.to_string(), text);
    }
}

const CHILD: &str = "TAPLINE_TEST_CLSACT_INTERFACE";

/// The child of the next test: attaches a program, reports that, and waits to be killed.
fn attach_and_wait(index: &str) {
    let counter = counter();
    let place = TcHook::Ingress;
    let index = index.parse().unwrap();
    let _link =
        TcLink::attach_by(TcAttachMethod::Clsact, &counting(&counter), index, place).unwrap();
    println!("attached");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Starts this program on `host` to attach a program. Returns after it has attached it.
fn start_victim(host: &Host) -> Child {
    let mut command = host.command(rerun::program().to_str().unwrap());
    command
        .args(rerun::arguments())
        .env(CHILD, host.interface().index.0.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("attached")));
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn the_next_start_removes_what_a_killed_process_left_and_nothing_else() {
    if let Ok(index) = std::env::var(CHILD) {
        return attach_and_wait(&index);
    }
    let [left, right] = Net::new().pair();
    let counters = [counter(), counter()];
    let [living, next] = [0, 1].map(|at| counting(&counters[at]));
    let child = start_victim(&right);
    assert_eq!(shown(&right), ([1, 0], true));
    let living = attach(&right, &living, TcHook::Ingress);
    assert_eq!(shown(&right), ([2, 0], true), "both are alive");
    kill(child);
    assert_eq!(shown(&right), ([2, 0], true), "clsact knows no owner");
    let next = attach(&right, &next, TcHook::Ingress);
    assert_eq!(
        shown(&right),
        ([2, 0], true),
        "the dead one is gone, the living stays"
    );
    send(&left, 4);
    drop((living, next));
    assert_eq!(shown(&right), ([0, 0], false));
    assert_eq!(counters.each_ref().map(read), [4, 4]);
}

#[test]
fn what_a_killed_process_left_is_removed_when_asked_and_nothing_else() {
    if let Ok(index) = std::env::var(CHILD) {
        return attach_and_wait(&index);
    }
    let [_left, right] = Net::new().pair();
    let index = right.interface().index.0;
    let remove = || right.run(|| TcLink::remove_leftovers(index).unwrap());
    remove();
    let child = start_victim(&right);
    remove();
    assert_eq!(shown(&right), ([1, 0], true), "it is alive");
    kill(child);
    remove();
    assert_eq!(shown(&right), ([0, 0], false));

    let child = start_victim(&right);
    let counter = counter();
    let living = attach(&right, &counting(&counter), TcHook::Egress);
    kill(child);
    remove();
    assert_eq!(shown(&right), ([0, 1], true));
    drop(living);
    assert_eq!(shown(&right), ([0, 0], false));

    let child = start_victim(&right);
    let name = right.interface().name;
    tc(
        &right,
        &format!("filter add dev {name} ingress bpf bytecode 1,6|0|0|0"),
    );
    kill(child);
    remove();
    assert_eq!(
        shown(&right),
        ([0, 0], true),
        "a filter of another is on it"
    );
}
