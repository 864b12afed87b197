//! When the kernel handed each request to the driver, and when the poll of the other interface ended that made its reply:
//! the times of two of the kernel's tracepoints, which programs of the bench keep.
//!
//! ```text
//! request ─▶ xdp_redirect ─▶ driver, xdp_devmap_xmit ─▶ poll of the other interface: kernel, reply ─▶ napi_poll
//!        ─▶ poll of this interface: the program that counts replies
//! ```
//!
//! All of it happens on one CPU, one after the other, so the driver here begins to take the reply after that poll. With a
//! [`ReplyHook`](super::reply_hook::ReplyHook), a record also has the time when the driver hands the reply to the program.
//! The time of a request is that of `xdp_redirect`, before the driver, where a packet socket stamps what it sees leave
//! (`dev_queue_xmit_nit`, net/core/dev.c). `xdp_devmap_xmit` tells how many requests the driver took at once.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::open_raw_tracepoint;
use bpf::{Alu, Condition, Helper, Insn, Label, Map, Program, ProgramKind, Reg, Size};

const NAME: &str = "tapline_bench";
/// The CPU of the program that is measured.
const CPU: i32 = 0;

/// Records; a power of two.
const RECORDS: i32 = 4096;
const RECORD_BYTES: i32 = 40;
const RECORDS_AT: i16 = 64;
const MAP_BYTES: u32 = 64 + 4096 * 40;

// Offsets of words in the map.
/// Number of the next record.
const NEXT: i16 = 0;
/// Whether a request has been handed over, and the poll has not ended.
const IS_PENDING: i16 = 8;
// Offsets in a record.
const HANDED: i16 = RECORDS_AT;
const REPLIED: i16 = RECORDS_AT + 8;
// Of the reply, by the hook: when it came, the first word of its cookie, and the last four bytes of its source address.
pub const ARRIVED: i16 = RECORDS_AT + 16;
pub const COOKIE: i16 = RECORDS_AT + 24;
pub const SOURCE: i16 = RECORDS_AT + 32;

pub const CONTEXT: Reg = Reg::R6;
const STATE: Reg = Reg::R7;
pub const RECORD: Reg = Reg::R8;
const NOW: Reg = Reg::R9;
pub const END: Label = Label(0);

/// Programs at the tracepoints.
#[derive(Debug)]
pub struct DriverTrace {
    pub map: Map,
    _tracepoints: Vec<OwnedFd>,
}

/// The times of a probe, nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct DriverStamps {
    pub handed_ns: u64,
    /// The end of the poll that made the reply.
    pub replied_ns: u64,
    /// What the hook saw.
    pub arrival: Option<Arrival>,
}

/// A reply at the hook.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub ns: u64,
    /// When the probe was sent by its cookie, in the time of the run.
    pub sent_ns: u64,
    /// The last bytes of the target's address.
    pub source: [u8; 4],
}

impl DriverTrace {
    /// Starts it, for one request at a time.
    pub fn start() -> Self {
        let map = Map::value(NAME, MAP_BYTES).expect("a map");
        let tracepoints = vec![
            attach(c"xdp_redirect", &handed(&map)),
            attach(c"xdp_devmap_xmit", &taken(&map)),
            attach(c"napi_poll", &polled(&map)),
        ];
        Self {
            map,
            _tracepoints: tracepoints,
        }
    }

    /// Starts it for the ends of all polls, at most 4096.
    pub fn start_polls() -> Self {
        let map = Map::value(NAME, MAP_BYTES).expect("a map");
        let tracepoints = vec![attach(c"napi_poll", &every_poll(&map))];
        Self {
            map,
            _tracepoints: tracepoints,
        }
    }

    /// The times of the requests. `None` if several were handed over at once.
    pub fn finish(self) -> Vec<Option<DriverStamps>> {
        let stamps = |[handed_ns, replied_ns, ns, cookie, source]: [u64; 5]| {
            let arrival = Arrival {
                ns,
                // The cookie begins with the time and the high bits of the number, in network order.
                sent_ns: u64::from_be(cookie) >> 8,
                source: (source as u32).to_ne_bytes(),
            };
            let has_both = handed_ns > 0 && replied_ns > handed_ns;
            has_both.then_some(DriverStamps {
                handed_ns,
                replied_ns,
                arrival: (ns > replied_ns).then_some(arrival),
            })
        };
        self.records().into_iter().map(stamps).collect()
    }

    /// The ends of all polls, nanoseconds of the monotonic clock.
    pub fn finish_polls(self) -> Vec<u64> {
        let records = self.records().into_iter();
        records.map(|[ended_ns, ..]| ended_ns).collect()
    }

    /// The words of all records.
    fn records(&self) -> Vec<[u64; 5]> {
        let mut bytes = vec![0; MAP_BYTES as usize];
        self.map.read(&mut bytes).expect("its value");
        let (head, records) = bytes.split_at(64);
        let word = |bytes: &[u8], at: usize| {
            let word = bytes[8 * at..][..8].try_into().expect("8 bytes");
            u64::from_ne_bytes(word)
        };
        let records = records.chunks_exact(RECORD_BYTES as usize);
        let records = records.take(word(head, 0) as usize);
        records
            .map(|record| [0, 1, 2, 3, 4].map(|at| word(record, at)))
            .collect()
    }
}

fn attach(name: &CStr, code: &[Insn<'_>]) -> OwnedFd {
    let program = Program::load(ProgramKind::Tracepoint, NAME, code);
    let program = program.expect("the kernel takes the program");
    open_raw_tracepoint(program.as_fd(), name).expect("a tracepoint")
}

/// Sets [`STATE`], [`NOW`], and [`RECORD`] to the next record, or the latest one. Ends on other CPUs.
pub fn begin(map: &Map, is_latest: bool) -> Vec<Insn<'_>> {
    vec![
        Insn::mov(CONTEXT, Reg::R1),
        Insn::Call(Helper::KtimeGetNs),
        Insn::mov(NOW, Reg::R0),
        Insn::Call(Helper::GetSmpProcessorId),
        Insn::jump_if(Condition::NotEqual, Reg::R0, CPU, END),
        Insn::LoadMapValue {
            dst: STATE,
            map: map.as_fd(),
        },
        Insn::load(Size::Double, RECORD, STATE, NEXT),
        Insn::add(RECORD, -i32::from(is_latest)),
        Insn::alu64(Alu::And, RECORD, RECORDS - 1),
        Insn::alu64(Alu::Mul, RECORD, RECORD_BYTES),
        Insn::add(RECORD, STATE),
    ]
}

fn end() -> [Insn<'static>; 3] {
    [Insn::Place(END), Insn::mov(Reg::R0, 0), Insn::Exit]
}

/// A request is handed to the driver (`xdp_redirect`, include/trace/events/xdp.h).
fn handed(map: &Map) -> Vec<Insn<'_>> {
    let mut code = begin(map, false);
    code.push(Insn::store(Size::Double, RECORD, HANDED, NOW));
    code.extend(end());
    code
}

/// The driver has taken requests. Arguments: `from_dev`, `to_dev`, `sent`, … (`xdp_devmap_xmit`,
/// include/trace/events/xdp.h). Several at once, after the sender was delayed, have no time.
fn taken(map: &Map) -> Vec<Insn<'_>> {
    let single = Label(1);
    let mut code = begin(map, false);
    code.extend([
        Insn::load(Size::Double, Reg::R1, CONTEXT, 16),
        Insn::mov32(Reg::R1, Reg::R1),
        Insn::load(Size::Double, Reg::R2, STATE, NEXT),
        Insn::add(Reg::R2, Reg::R1),
        Insn::store(Size::Double, STATE, NEXT, Reg::R2),
        Insn::jump_if(Condition::Equal, Reg::R1, 1, single),
        Insn::store(Size::Double, STATE, IS_PENDING, 0),
        Insn::Jump { target: END },
        Insn::Place(single),
        Insn::store(Size::Double, STATE, IS_PENDING, 1),
    ]);
    code.extend(end());
    code
}

/// A poll has ended. Arguments: `napi`, `work`, `budget` (include/trace/events/napi.h). Ignores those that took no packet.
fn polled(map: &Map) -> Vec<Insn<'_>> {
    let mut code = begin(map, true);
    code.extend([
        Insn::load(Size::Double, Reg::R1, CONTEXT, 8),
        Insn::jump_if32(Condition::Equal, Reg::R1, 0, END),
        Insn::load(Size::Double, Reg::R1, STATE, IS_PENDING),
        Insn::jump_if(Condition::Equal, Reg::R1, 0, END),
        Insn::store(Size::Double, STATE, IS_PENDING, 0),
        // Last, so that this program's own time is none of tapline's.
        Insn::Call(Helper::KtimeGetNs),
        Insn::store(Size::Double, RECORD, REPLIED, Reg::R0),
    ]);
    code.extend(end());
    code
}

/// As [`polled`], for every poll that took a packet.
fn every_poll(map: &Map) -> Vec<Insn<'_>> {
    let mut code = begin(map, false);
    code.extend([
        Insn::load(Size::Double, Reg::R1, CONTEXT, 8),
        Insn::jump_if32(Condition::Equal, Reg::R1, 0, END),
        Insn::load(Size::Double, Reg::R1, STATE, NEXT),
        Insn::jump_if(Condition::GreaterOrEqual, Reg::R1, RECORDS, END),
        Insn::add(Reg::R1, 1),
        Insn::store(Size::Double, STATE, NEXT, Reg::R1),
        Insn::Call(Helper::KtimeGetNs),
        Insn::store(Size::Double, RECORD, HANDED, Reg::R0),
    ]);
    code.extend(end());
    code
}
