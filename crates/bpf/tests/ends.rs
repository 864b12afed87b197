//! Programs never stay attached after a process exits, whatever the reason. Afterwards, known numbers of packets arrive
//! that the programs would have dropped.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::objects::{Objects, links_of};
use lab::{Host, Net, rerun};
use tapline_bpf::{
    Insn, Program, ProgramKind, Reg, TcAttachMethod, TcHook, TcLink, XdpAttachMode, XdpLink,
};

const INTERFACE: &str = "TAPLINE_TEST_INTERFACE";
const END: &str = "TAPLINE_TEST_END";
const NAME: &str = "TAPLINE_TEST_NAME";
const DEADLINE: Duration = Duration::from_secs(10);
const PORT: u16 = 7004;

fn dropping(kind: ProgramKind, name: &str) -> Program {
    let verdict = match kind {
        ProgramKind::Tc => 2, // TC_ACT_SHOT
        _ => 1,               // XDP_DROP
    };
    let code = [Insn::mov32(Reg::R0, verdict), Insn::Exit];
    Program::load(kind, name, &code).unwrap()
}

/// The child: attaches programs, reports that, and exits by method `end` when its input closes.
fn attach_and_end(end: &str) {
    let variable = |name| std::env::var(name).unwrap();
    let (index, name) = (variable(INTERFACE).parse().unwrap(), variable(NAME));
    let (xdp, tc) = (
        dropping(ProgramKind::Xdp, &name),
        dropping(ProgramKind::Tc, &name),
    );
    let _xdp = XdpLink::attach(&xdp, index, XdpAttachMode::Native).unwrap();
    let _tc = [TcHook::Ingress, TcHook::Egress]
        .map(|place| TcLink::attach_by(TcAttachMethod::Tcx, &tc, index, place).unwrap());
    println!("attached");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    match end {
        "exit" => std::process::exit(7),
        "abort" => std::process::abort(),
        "panic" => panic!("as told"),
        _ => {}
    }
}

/// Starts the child on `host`, and returns after it has attached its programs.
fn start(host: &Host, end: &str, name: &str) -> (Child, impl BufRead) {
    let mut command = host.command(rerun::program().to_str().unwrap());
    command
        .args(rerun::arguments())
        .env(INTERFACE, host.interface().index.0.to_string())
        .env(END, end)
        .env(NAME, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = output.by_ref().lines();
    assert!(lines.any(|line| line.unwrap().contains("attached")));
    (child, output)
}

/// Opens a socket on `right` and sends ten datagrams from `left` to it.
fn send(left: &Host, right: &Host) -> UdpSocket {
    let to = (right.interface().v4, PORT);
    let receiver = right.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap());
    left.run(|| {
        lab::generator::pin_to_cpu(0).unwrap();
        let sender = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        for _ in 0..10 {
            sender.send_to(b"datagram", to).unwrap();
        }
    });
    receiver
}

#[test]
fn nothing_stays_attached_however_a_process_ends() {
    if let Ok(end) = std::env::var(END) {
        return attach_and_end(&end);
    }
    let [left, right] = Net::new().pair();
    for (end, status) in [
        ("return", (Some(0), None)),
        ("exit", (Some(7), None)),
        ("panic", (Some(101), None)),
        ("abort", (None, Some(6))),
        ("kill", (None, Some(9))),
    ] {
        let name = format!("end_{end}_{:x}", std::process::id() & 0xf_ffff);
        let name = &name[..name.len().min(15)];
        let (mut child, _output) = start(&right, end, name);
        assert_eq!(Objects::named(name).programs, 2, "{end}");
        assert_eq!(links_of(child.id()), 3, "{end}");
        let receiver = send(&left, &right);
        receiver.set_nonblocking(true).unwrap();
        let arrived = receiver.recv(&mut [0; 9]);
        assert!(arrived.is_err(), "{end}: the programs drop");
        drop(receiver);
        if end == "kill" {
            child.kill().unwrap();
        }
        let ended = abi::process::wait(child).unwrap().status;
        assert_eq!((ended.code(), ended.signal()), status, "{end}");
        let receiver = send(&left, &right);
        receiver.set_read_timeout(Some(DEADLINE)).unwrap();
        for at in 0..10 {
            let arrived = receiver.recv(&mut [0; 9]);
            assert!(arrived.is_ok(), "{end}: {arrived:?} at {at}");
        }
        Objects::until_none(name);
    }
}
