//! Attaching and detaching repeatedly leaks nothing.
//!
//! `TAPLINE_SOAK_CYCLES=10000 cargo test -p tapline-bpf --test main soak:: -- --nocapture` runs the full test.

use std::os::fd::AsFd;
use std::time::Instant;

use crate::objects::{Objects, links_of};
use lab::resources::{descriptors, resident_pages};
use lab::{Host, Net, rerun};
use tapline_bpf::{
    CounterTable, Counters, FullTablePolicy, Insn, Program, ProgramKind, Reg, TableOptions,
    TcAttachMethod, TcHook, TcLink, XdpAttachMode, XdpLink,
};

const CYCLES: usize = 20;
/// Maximum memory growth after the first tenth of the cycles, in pages.
const MAX_GROWTH_PAGES: usize = 256;

/// A program that refers to both maps and passes every packet.
fn program(kind: ProgramKind, name: &str, maps: [&dyn AsFd; 2]) -> Program {
    let verdict = if kind == ProgramKind::Tc { -1 } else { 2 };
    let load = |map| Insn::LoadMap { dst: Reg::R1, map };
    let mut code: Vec<Insn<'_>> = maps.map(|map| load(map.as_fd())).into();
    code.extend([Insn::mov32(Reg::R0, verdict), Insn::Exit]);
    Program::load(kind, name, &code).unwrap()
}

/// Creates maps and programs named `name` and attaches them at every hook.
fn cycle(name: &str, index: u32) {
    let counters = Counters::<2>::create(name).unwrap();
    let options = TableOptions {
        key_bytes: 4,
        max_entries: 16,
        when_full: FullTablePolicy::Evict,
    };
    let table = CounterTable::<2>::create(name, options).unwrap();
    let load = |kind| program(kind, name, [&counters, &table]);
    let (xdp, tc) = (load(ProgramKind::Xdp), load(ProgramKind::Tc));
    let generic = XdpLink::attach(&xdp, index, XdpAttachMode::Generic).unwrap();
    drop(generic);
    let _native = XdpLink::attach(&xdp, index, XdpAttachMode::Native).unwrap();
    let attach = |way, place| TcLink::attach_by(way, &tc, index, place).unwrap();
    let _tc = [
        attach(TcAttachMethod::Tcx, TcHook::Ingress),
        attach(TcAttachMethod::Tcx, TcHook::Egress),
        attach(TcAttachMethod::Clsact, TcHook::Egress),
    ];
    assert_eq!(links_of(std::process::id()), 3);
    let Objects { programs, maps } = Objects::named(name);
    // What the cycle before left may not be freed yet.
    assert!(programs >= 2 && maps >= 2);
}

fn soak(host: &Host, name: &str, cycles: usize) {
    let index = host.interface().index.0;
    host.run(|| {
        for _ in 0..cycles {
            cycle(name, index);
        }
    });
}

#[test]
fn cycles_of_attaching_and_detaching_leave_nothing() {
    if rerun::has_run_alone() {
        return;
    }
    let cycles = std::env::var("TAPLINE_SOAK_CYCLES").map_or(CYCLES, |n| n.parse().unwrap());
    let [left, _right] = Net::new().pair();
    let name = format!("soak_{:x}", std::process::id());
    // What is set up once: the thread's and the host's.
    soak(&left, &name, cycles.div_ceil(10));
    Objects::until_none(&name);
    let before = (descriptors(), resident_pages());
    let start = Instant::now();
    soak(&left, &name, cycles);
    Objects::until_none(&name);
    let after = (descriptors(), resident_pages());
    let span = start.elapsed();
    println!("{cycles} cycles in {span:?}: descriptors and pages {before:?}, then {after:?}");
    assert_eq!(before.0, after.0, "descriptors");
    assert!(
        after.1 <= before.1 + MAX_GROWTH_PAGES,
        "{before:?} {after:?}"
    );
    let xdp = left.run(|| {
        std::process::Command::new("ip")
            .args(["link", "show"])
            .output()
    });
    let shown = String::from_utf8(xdp.unwrap().stdout).unwrap();
    assert!(!shown.contains("xdp") && shown.contains("left0"), "{shown}");
    let qdiscs = left.run(|| {
        std::process::Command::new("tc")
            .args(["qdisc", "show"])
            .output()
    });
    let shown = String::from_utf8(qdiscs.unwrap().stdout).unwrap();
    assert!(!shown.contains("clsact"), "{shown}");
}
