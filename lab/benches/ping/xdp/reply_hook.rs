//! A program in front of tapline's, which notes when the driver hands over each reply.
//!
//! ```text
//! driver ─▶ hook: record, clock ─ tail call ─▶ tapline's program: clock
//! ```
//!
//! The tail call is part of what tapline reports beyond the hook. The hook's other instructions, before its clock read, add to the
//! driver's part.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use abi::bpf::{MapLayout, MapType, ObjectKind, open_id, update_link};
use bpf::{Condition, Helper, Insn, Program, ProgramKind, Reg, Size};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::driver_stamps::{ARRIVED, CONTEXT, COOKIE, DriverTrace, END, RECORD, SOURCE, begin};
use crate::harness::{Running, pause};

const NAME: &str = "tapline_bench";
const XDP_PASS: i32 = 2;
/// The index of the loopback in every network namespace (`LOOPBACK_IFINDEX`, include/net/flow.h).
const LOOPBACK: &str = "1";
/// How often the process is looked at until it has attached its program, and for how long.
const LOOK: Duration = Duration::from_micros(500);
const LOOKS: u32 = 20_000;

/// Where the fields of a reply lie: its type, the last four bytes of the source address, and the cookie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    icmp: i16,
    kind: i32,
    source: i16,
}

const IPV4: Layout = Layout {
    icmp: 34,
    kind: 0,
    source: 26,
};
const IPV6: Layout = Layout {
    icmp: 54,
    kind: 129,
    source: 34,
};

/// The program, and the array through which it continues with tapline's.
#[derive(Debug)]
pub struct ReplyHook {
    program: Program,
    next: abi::bpf::Map,
}

impl ReplyHook {
    /// Loads it for replies of a family.
    pub fn load(trace: &DriverTrace, is_ipv6: bool) -> Self {
        let layout = MapLayout {
            map_type: MapType::ProgramArray,
            key_bytes: 4,
            value_bytes: 4,
            max_entries: 1,
        };
        let next = abi::bpf::Map::create(&layout, NAME).expect("an array of programs");
        let code = code(trace, &next, if is_ipv6 { IPV6 } else { IPV4 });
        // As tapline's: programs of one array are all for multi-buffer frames, or none.
        let program = Program::load(ProgramKind::XdpFrags, NAME, &code);
        Self {
            program: program.expect("the kernel takes the program"),
            next,
        }
    }

    /// Puts it in front of the XDP program of a process, as soon as that has attached it. The link stays that of the process.
    pub fn insert(&self, process: &Running) {
        for _ in 0..LOOKS {
            if let Some((link, program)) = xdp_link(process.id()) {
                let key = 0_u32.to_ne_bytes();
                let value = program.as_raw_fd().to_ne_bytes();
                self.next.update(&key, &value).expect("a program like it");
                update_link(link.as_fd(), self.program.as_fd()).expect("the link takes it");
                return;
            }
            pause(LOOK);
        }
        panic!("the process attaches no XDP program");
    }
}

/// The link of a process to the XDP program that takes replies, and that program.
///
/// # Source
/// `bpf_link_show_fdinfo`, kernel/bpf/syscall.c.
fn xdp_link(process: u32) -> Option<(OwnedFd, OwnedFd)> {
    for entry in fs::read_dir(format!("/proc/{process}/fdinfo"))
        .ok()?
        .flatten()
    {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(":\t"));
            lines.find_map(|(key, value)| (key == name).then_some(value))
        };
        // The program that sends requests is attached to the loopback.
        if field("link_type") != Some("xdp") || field("ifindex") == Some(LOOPBACK) {
            continue;
        }
        let program = field("prog_id")?.parse().ok()?;
        let program = open_id(ObjectKind::Program, program).ok()??;
        let number = entry.file_name().to_str()?.parse().ok()?;
        let process = pidfd_open(Pid::from_raw(process.cast_signed())?, PidfdFlags::empty());
        let link = pidfd_getfd(process.ok()?, number, PidfdGetfdFlags::empty());
        return Some((link.ok()?, program));
    }
    None
}

fn code<'m>(trace: &'m DriverTrace, next: &'m abi::bpf::Map, layout: Layout) -> Vec<Insn<'m>> {
    let cookie = layout.icmp + 8;
    let [data, data_end] = [0, 4];
    let mut code = begin(&trace.map, true);
    code.extend([
        Insn::load(Size::Word, Reg::R1, CONTEXT, data),
        Insn::load(Size::Word, Reg::R2, CONTEXT, data_end),
        Insn::mov(Reg::R3, Reg::R1),
        Insn::add(Reg::R3, i32::from(cookie + 8)),
        Insn::jump_if(Condition::Greater, Reg::R3, Reg::R2, END),
        Insn::load(Size::Byte, Reg::R3, Reg::R1, layout.icmp),
        Insn::jump_if32(Condition::NotEqual, Reg::R3, layout.kind, END),
        Insn::load(Size::Double, Reg::R3, RECORD, ARRIVED),
        Insn::jump_if(Condition::NotEqual, Reg::R3, 0, END),
        Insn::load(Size::Double, Reg::R3, Reg::R1, cookie),
        Insn::store(Size::Double, RECORD, COOKIE, Reg::R3),
        Insn::load(Size::Word, Reg::R3, Reg::R1, layout.source),
        Insn::store(Size::Double, RECORD, SOURCE, Reg::R3),
        // Last, so that this program's own time is none of tapline's.
        Insn::Call(Helper::KtimeGetNs),
        Insn::store(Size::Double, RECORD, ARRIVED, Reg::R0),
        Insn::Place(END),
        Insn::mov(Reg::R1, CONTEXT),
        Insn::LoadMap {
            dst: Reg::R2,
            map: next.as_fd(),
        },
        Insn::mov32(Reg::R3, 0),
        Insn::Call(Helper::TailCall),
        Insn::mov32(Reg::R0, XDP_PASS),
        Insn::Exit,
    ]);
    code
}
