//! XDP programs on a veth pair in the test's namespace, and errors; checked with `ip -json`.

use std::os::fd::AsFd;

use crate::support::{in_own_namespace, ip, whole};
use tapline_bpf::{
    Insn, LoadError, Program, ProgramKind, Reg, Size, XdpAttachMode, XdpLink, XdpMode,
};

const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;

fn verdict(verdict: i32) -> Program {
    let code = [Insn::mov(Reg::R0, verdict), Insn::Exit];
    Program::load(ProgramKind::Xdp, "verdict", &code).unwrap()
}

fn ifindex(link: &str) -> u32 {
    let socket = abi::socket::packet_socket().unwrap();
    abi::socket::link_index(socket.as_fd(), link).unwrap()
}

#[test]
fn a_link_attaches_and_its_drop_detaches() {
    if !in_own_namespace() {
        return;
    }
    ip("link add name left type veth peer name right");
    let program = verdict(XDP_PASS);
    let shown = || ip("-json link show right");
    let id = format!("\"id\":{},", program.id().unwrap());
    for (place, mode) in [
        (XdpAttachMode::Native, XdpMode::Native),
        (XdpAttachMode::Generic, XdpMode::Generic),
        (XdpAttachMode::NativeOrGeneric, XdpMode::Native),
    ] {
        let link = XdpLink::attach(&program, ifindex("right"), place).unwrap();
        assert_eq!(link.mode(), mode);
        // ip's numbers: 1 driver, 2 generic.
        let number = if mode == XdpMode::Native { 1 } else { 2 };
        assert!(
            shown().contains(&format!("\"xdp\":{{\"mode\":{number}")),
            "{}",
            shown()
        );
        assert!(shown().contains(&id), "{}", shown());
        drop(link);
        assert!(!shown().contains("xdp"), "{}", shown());
    }
}

#[test]
fn a_driver_without_xdp_gets_the_generic_mode_if_allowed() {
    if !in_own_namespace() {
        return;
    }
    let (program, lo) = (verdict(XDP_PASS), ifindex("lo"));
    let link = XdpLink::attach(&program, lo, XdpAttachMode::NativeOrGeneric).unwrap();
    assert_eq!(link.mode(), XdpMode::Generic);
    assert_eq!(
        link.native_refusal().unwrap().source.raw_os_error(),
        Some(95),
        "EOPNOTSUPP"
    );
    drop(link);
    let error = XdpLink::attach(&program, lo, XdpAttachMode::Native).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot attach native XDP program to lo (the driver does not support native XDP)"
    );
}

#[test]
fn a_second_program_and_a_missing_interface_are_refused() {
    if !in_own_namespace() {
        return;
    }
    ip("link add name left type veth peer name right");
    let program = verdict(XDP_DROP);
    let _first = XdpLink::attach(&program, ifindex("right"), XdpAttachMode::Native).unwrap();
    let second =
        XdpLink::attach(&program, ifindex("right"), XdpAttachMode::NativeOrGeneric).unwrap_err();
    assert_eq!(second.source.raw_os_error(), Some(16), "EBUSY");
    assert_eq!(
        second.to_string(),
        format!(
            "cannot attach XDP program to right: program {} (verdict) is attached already by process \
             {} ({}), whose end detaches it",
            program.id().unwrap(),
            std::process::id(),
            std::fs::read_to_string("/proc/self/comm")
                .unwrap()
                .trim_end(),
        )
    );
    let missing = XdpLink::attach(&program, 4711, XdpAttachMode::NativeOrGeneric).unwrap_err();
    assert_eq!(missing.source.raw_os_error(), Some(19), "ENODEV");
    assert_eq!(missing.mode, XdpMode::Native);
    assert_eq!(
        missing.to_string(),
        "cannot attach native XDP program to interface 4711"
    );
}

#[test]
fn a_refusal_tells_the_verifiers_reason() {
    let code = [Insn::load(Size::Word, Reg::R0, Reg::R3, 0), Insn::Exit];
    let error = Program::load(ProgramKind::Xdp, "bad", &code).unwrap_err();
    let LoadError::Refused { ref log, .. } = error else {
        panic!("{error:?}")
    };
    assert!(log.whole().contains("processed"), "{}", log.whole());
    let text = error.to_string();
    // Until Linux 6.18 it is `R3 !read_ok`; Linux 7.3 has a sentence.
    let reason = text.strip_prefix("cannot load XDP program: ");
    let reason = reason.unwrap_or_else(|| panic!("{text}"));
    assert!(
        reason.contains("R3") && log.whole().contains(reason),
        "{text}"
    );
    assert!(
        whole(&error).ends_with("(os error 13)"),
        "{}",
        whole(&error)
    );
}

#[test]
fn a_test_run_gives_the_verdict() {
    let result = verdict(XDP_DROP)
        .test_run(
            &abi::bpf::TestRun {
                data: &[0; 60],
                repeat: 3,
                ..Default::default()
            },
            &mut [],
        )
        .unwrap();
    assert_eq!(result.return_value, XDP_DROP as u32);
    assert_eq!(result.data_bytes, 60);
}
