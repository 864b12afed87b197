//! The prober: its maps, and the programs that send requests and count replies.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use abi::bpf::{MapLayout, MapType};
use abi::region::Region;

use super::code::ETHERNET;
use super::counters::{EchoCounters, offset};
use super::layout::{ERROR_KEY_BYTES, Entries, TARGET_HISTOGRAM_BYTES, TOTALS_BYTES, Total, hop};
use super::request::{MEMORY_BYTES, RECORD_BYTES, RECORDS};
use super::{reply, request};
use crate::Insn;
use crate::capture::XdpProgramError;
use crate::live_frames::{
    BATCH_FRAMES, LiveFramesError, LiveFramesSent, LiveProgram, LiveRun, program as frames,
};
use crate::map::MapError;
use crate::program::{LoadError, Program, ProgramKind};
use crate::table::{CounterTable, FullTablePolicy, TableOptions};
use crate::xdp::{XdpAttachMode, XdpLink, XdpMode};

const NAME: &str = "tapline_ping";

/// Kinds of ICMP errors, by router, type and code, that are counted separately.
const MAX_ERROR_KINDS: u32 = 1024;

/// Offset of the payload in a message.
const PAYLOAD: usize = 8;
/// Bytes of the cookie.
const COOKIE: usize = 16;
/// One VLAN tag.
const MAX_TAG_BYTES: u8 = 4;

/// What an [`EchoProber`] sends and accepts.
#[derive(Clone, Debug)]
pub struct EchoProberOptions {
    /// Secret of the run.
    pub key: [u64; 2],
    /// Identifier of all requests.
    pub identifier: u16,
    /// Start of the run on `CLOCK_MONOTONIC`, nanoseconds.
    pub start_ns: u64,
    /// Time after which an answer is late.
    pub timeout_ns: u64,
    /// Time after which an answer is not classified any more.
    pub window_ns: u64,
    /// Probes to a target within `window_ns`, at most [`EchoProber::MAX_WINDOW`]; rounded up to a power of two. If there are
    /// more, an answer that so many later ones have overtaken counts as stale.
    pub window: u32,
    /// Number of targets that there is room for.
    pub targets: u32,
    /// Whether there is one probe to each target, with number 1. Such a target takes 16 bytes, or 32 if there are IPv6
    /// targets; others take 128, and 8 for each probe of the window.
    pub is_single: bool,
    /// Whether each target has a histogram of its round trips, 1728 bytes; not with one probe to each.
    pub has_histograms: bool,
    /// Number of next hops.
    pub hops: u32,
    /// The request to IPv4 targets, if there are any: the whole frame. The programs write the destination's MAC address, both
    /// IP addresses, sequence number, cookie and checksums.
    pub ipv4: Option<Vec<u8>>,
    /// The same for IPv6.
    pub ipv6: Option<Vec<u8>>,
    /// Length of the payload.
    pub payload_bytes: u16,
    /// The interface that sends requests, if it is another one than that of the replies: the lower interface of a VLAN, with
    /// `tag_bytes` bytes of VLAN tags in the requests.
    pub egress: Option<u32>,
    /// Bytes of VLAN tags in the requests: 0 or 4.
    pub tag_bytes: u8,
    /// Whether programs send the requests. If not, the caller does.
    pub sends: bool,
    /// Where the program that counts replies runs.
    pub mode: XdpAttachMode,
}

/// Counters of all targets, and of messages that belong to none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EchoTotals {
    /// First answers in time.
    pub received: u64,
    /// First answers after the timeout.
    pub late: u64,
    /// Further answers.
    pub duplicate: u64,
    /// Damaged or truncated answers.
    pub corrupt: u64,
    /// ICMP errors that were the first answer.
    pub errors: u64,
    /// Answers from another address than the target's.
    pub wrong_source: u64,
    /// Messages with our identifier and format, but a wrong tag.
    pub forged: u64,
    /// Messages with our identifier that are too short for a cookie.
    pub cut_short: u64,
    /// Messages with our identifier of other programs.
    pub foreign: u64,
    /// Answers after the window.
    pub stale: u64,
    /// ICMP errors that quote too little to verify.
    pub notices: u64,
    /// ICMP errors beyond 1024 kinds.
    pub other_errors: u64,
}

/// An ICMP error of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoError {
    /// Who sent it.
    pub router: IpAddr,
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
}

/// Sends echo requests as XDP live frames, unless the caller sends them, and counts replies in an XDP program on the same interface. Dropping it, or the
/// end of the process, detaches the program.
///
/// Each request carries the cookie of `tapline-probe`: send time, target, number, and a SipHash-1-3 tag. The program that
/// makes the frame reads the clock and computes the tag. The other one verifies checksum, tag, length and source address of
/// each reply, tells duplicates by a window of numbers for each target, updates the counters, and drops the reply. All
/// other packets pass, also replies to other programs. The payload behind the cookie is verified by its length and its sum.
#[derive(Debug)]
pub struct EchoProber {
    link: Option<XdpLink>,
    mode: XdpMode,
    run: Option<LiveRun>,
    senders: [Option<Sender>; 2],
    targets: EchoCounters,
    hops: Region,
    totals: Arc<Region>,
    errors: CounterTable<1>,
    hop_count: u32,
}

#[derive(Debug)]
struct Sender {
    program: LiveProgram,
    frame: Vec<u8>,
    /// The same, where the program reads it.
    template: abi::bpf::Map,
}

/// Counters of ICMP errors, by target and kind.
fn error_table() -> Result<CounterTable<1>, XdpProgramError> {
    let options = TableOptions {
        key_bytes: ERROR_KEY_BYTES,
        max_entries: MAX_ERROR_KINDS,
        when_full: FullTablePolicy::Refuse,
    };
    CounterTable::create(NAME, options).map_err(XdpProgramError::from)
}

impl EchoProber {
    /// Maximum of [`EchoProberOptions::window`].
    pub const MAX_WINDOW: u32 = 1 << 22;
    /// Requests in one call of [`send`](Self::send).
    pub const MAX_BATCH: usize = RECORDS;

    /// Memory for a target with `window` probes in its window; for one probe if `is_single`.
    pub fn bytes_per_target(
        is_single: bool,
        has_ipv6: bool,
        window: u32,
        has_histograms: bool,
    ) -> u64 {
        let entry = Entries::new(is_single, has_ipv6).bytes() as u64;
        if is_single {
            return entry;
        }
        let histogram = if has_histograms {
            TARGET_HISTOGRAM_BYTES as u64
        } else {
            0
        };
        entry + 8 * u64::from(window) + histogram
    }

    /// Attaches to interface `ifindex` of the calling thread's network namespace. Sends nothing.
    ///
    /// # Errors
    /// [`EchoProberError`].
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`; `CAP_SYS_ADMIN` for a namespace that the sending programs need.
    /// # Kernel
    /// Linux 5.18; without programs that send 5.12.
    pub fn open(ifindex: u32, options: &EchoProberOptions) -> Result<Self, EchoProberError> {
        let entries = Entries::new(options.is_single, options.ipv6.is_some());
        let slots = options
            .window
            .clamp(1, Self::MAX_WINDOW)
            .next_power_of_two();
        let positions = if entries.is_single {
            1
        } else {
            u64::from(slots) * u64::from(options.targets)
        };
        let window = array(8, u32::try_from(positions).unwrap_or(u32::MAX))?;
        let histograms = if options.has_histograms && !entries.is_single {
            let bytes = TARGET_HISTOGRAM_BYTES as u32;
            Some(shared_array(bytes, options.targets)?)
        } else {
            None
        };
        let (histograms, histogram_memory) = histograms.unzip();
        let (targets, target_memory) = shared_array(entries.bytes() as u32, options.targets)?;
        let (hops, hop_memory) = shared_array(hop::BYTES, options.hops.max(1))?;
        let (totals, totals_memory) = shared_array(TOTALS_BYTES as u32, 1)?;
        let errors = error_table()?;
        let totals_memory = Arc::new(totals_memory);
        let target_memory = EchoCounters::new(
            target_memory,
            histogram_memory,
            totals_memory.clone(),
            entries,
            options.targets,
        );
        let egress = options.egress.unwrap_or(ifindex);
        let run = options
            .sends
            .then(|| LiveRun::open(egress, NAME, MEMORY_BYTES));
        let run = run.transpose()?;
        let ethernet = ETHERNET + i16::from(options.tag_bytes.min(MAX_TAG_BYTES));
        let sender = |run: &LiveRun, is_ipv6: bool, frame: &Vec<u8>| {
            let frame = cleared(frame, is_ipv6, offset(ethernet));
            let template = template(&frame)?;
            let program = request::Program {
                is_ipv6,
                key: options.key,
                identifier: options.identifier,
                start_ns: options.start_ns,
                bytes: frame.len(),
                ethernet,
                sums: sums(&frame, is_ipv6, offset(ethernet)),
                template: template.as_fd(),
                entries,
                targets: targets.as_fd(),
                hops: hops.as_fd(),
                memory: run.shared.as_fd(),
                device: run.device.as_fd(),
            };
            Ok::<_, EchoProberError>(Sender {
                program: LiveProgram::load(NAME, &program.code())?,
                frame,
                template,
            })
        };
        let senders = [(false, &options.ipv4), (true, &options.ipv6)];
        let [ipv4, ipv6] = senders.map(|(is_ipv6, frame)| {
            let (run, frame) = (run.as_ref()?, frame.as_ref()?);
            Some(sender(run, is_ipv6, frame))
        });
        let senders = [ipv4.transpose()?, ipv6.transpose()?];
        let program = reply::Program {
            key: options.key,
            identifier: options.identifier,
            start_ns: options.start_ns,
            timeout_ns: options.timeout_ns,
            window_ns: options.window_ns,
            entries,
            slots,
            payload_bytes: options.payload_bytes,
            filler: rest(options, offset(ethernet)).0,
            filler_sum: rest(options, offset(ethernet)).1,
            targets: targets.as_fd(),
            window: window.as_fd(),
            histograms: histograms.as_ref().map(AsFd::as_fd),
            totals: totals.as_fd(),
            errors: errors.as_fd(),
        };
        let program = load(&program.code())?;
        let link = XdpLink::attach(&program, ifindex, options.mode);
        let link = link.map_err(XdpProgramError::from)?;
        Ok(Self {
            mode: link.mode(),
            link: Some(link),
            run,
            senders,
            targets: target_memory,
            hops: hop_memory,
            totals: totals_memory,
            errors,
            hop_count: options.hops.max(1),
        })
    }

    /// Sets the address of a target and its next hop; without one, nothing can be sent to it. Ignores targets and hops that
    /// do not exist.
    pub fn set_target(&mut self, target: u32, address: IpAddr, hop: Option<u32>) {
        let hop = hop.filter(|hop| *hop < self.hop_count);
        self.targets.set(target, address, hop);
    }

    /// Sets the time after which an answer of a target is late, at most that of the run, rounded up to microseconds; `None`
    /// is that of the run, also above 71 minutes. Targets with one probe have that of the run.
    pub fn set_timeout(&mut self, target: u32, timeout_ns: Option<u64>) {
        let timeout_us = timeout_ns.and_then(|ns| u32::try_from(ns.div_ceil(1000)).ok());
        self.targets.set_timeout(target, timeout_us.unwrap_or(0));
    }

    /// Leaves a target without a next hop: nothing can be sent to it.
    pub fn forget_hop(&mut self, target: u32) {
        self.targets.forget_hop(target);
    }

    /// Sets the source MAC address of the requests that programs send.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_UPDATE_ELEM`; none is known.
    pub fn set_mac(&mut self, mac: [u8; 6]) -> io::Result<()> {
        for sender in self.senders.iter_mut().flatten() {
            if let Some(source) = sender.frame.get_mut(6..12) {
                source.copy_from_slice(&mac);
            }
            sender.template.update(&0u32.to_ne_bytes(), &sender.frame)?;
        }
        Ok(())
    }

    /// The next hop of a target.
    #[inline]
    pub fn hop_of(&self, target: u32) -> Option<u32> {
        self.targets.hop_of(target)
    }

    /// Sets the MAC address of a next hop, and the source address of the requests that leave by it. Requests of one family
    /// only can leave by a hop. Ignores hops that do not exist.
    pub fn set_hop(&mut self, hop: u32, mac: [u8; 6], source: IpAddr) {
        if hop >= self.hop_count {
            return;
        }
        let mut entry = [0; hop::BYTES as usize];
        entry[..mac.len()].copy_from_slice(&mac);
        match source {
            IpAddr::V4(source) => {
                entry[offset(hop::SOURCE)..][..4].copy_from_slice(&source.octets());
            }
            IpAddr::V6(source) => {
                let sum = folded(sum_of(&source.octets()));
                entry[offset(hop::SOURCE_SUM)..][..2].copy_from_slice(&sum.to_ne_bytes());
                entry[offset(hop::SOURCE)..].copy_from_slice(&source.octets());
            }
        }
        self.hops.write(hop as usize * entry.len(), &entry);
    }

    /// Sends requests to targets of one family: their targets and numbers, at most [`MAX_BATCH`](Self::MAX_BATCH) of them.
    /// Those that were sent are the first ones.
    ///
    /// # Errors
    /// Errors of `BPF_PROG_TEST_RUN`; EAFNOSUPPORT without a frame for the family, or without programs that send. Nothing
    /// was sent then.
    pub fn send(&mut self, is_ipv6: bool, probes: &[(u32, u32)]) -> io::Result<LiveFramesSent> {
        let (Some(run), Some(sender)) = (&mut self.run, &self.senders[usize::from(is_ipv6)]) else {
            return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
        };
        let probes = &probes[..probes.len().min(RECORDS)];
        for (at, (target, number)) in probes.iter().enumerate() {
            let mut record = [0; RECORD_BYTES];
            record[..4].copy_from_slice(&target.to_ne_bytes());
            record[4..].copy_from_slice(&number.to_ne_bytes());
            run.memory
                .write(frames::RECORDS_AT + at * RECORD_BYTES, &record);
        }
        run.send(
            &sender.program,
            &sender.frame,
            probes.len() as u32,
            BATCH_FRAMES,
        )
    }

    /// The counters of all targets.
    pub fn totals(&self) -> EchoTotals {
        let of = |total: Total| {
            let word = self.totals.word64(offset(total.offset()));
            word.load(Ordering::Relaxed)
        };
        EchoTotals {
            received: of(Total::Received),
            late: of(Total::Late),
            duplicate: of(Total::Duplicate),
            corrupt: of(Total::Corrupt),
            errors: of(Total::Errors),
            wrong_source: of(Total::WrongSource),
            forged: of(Total::Forged),
            cut_short: of(Total::CutShort),
            foreign: of(Total::Foreign),
            stale: of(Total::Stale),
            notices: of(Total::Notices),
            other_errors: of(Total::OtherErrors),
        }
    }

    /// The answers of each target, also after the prober is dropped.
    pub fn counters(&self) -> EchoCounters {
        self.targets.clone()
    }

    /// Detaches the program that counts replies. The counters stay as they are from now on.
    pub fn detach(&mut self) {
        self.link = None;
    }

    /// Calls `row` with each kind of ICMP error and how often it arrived.
    ///
    /// # Errors
    /// As [`CounterTable::read`].
    pub fn errors(&mut self, mut row: impl FnMut(EchoError, u64)) -> io::Result<()> {
        self.errors.read(|key, [count]| {
            let Some((address, rest)) = key.split_first_chunk::<16>() else {
                return;
            };
            let router = std::net::Ipv6Addr::from(*address).to_canonical();
            let error = EchoError {
                router,
                kind: rest[0],
                code: rest[1],
            };
            row(error, count);
        })
    }

    /// Where the program that counts replies runs.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }
}

/// An [`EchoProber`] cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EchoProberError {
    /// The program that counts replies.
    #[error(transparent)]
    Program(#[from] XdpProgramError),
    /// The programs that send requests.
    #[error(transparent)]
    Frames(#[from] LiveFramesError),
    /// The kernel does not know instructions of the program that counts replies, and refused it.
    #[error("counting replies by XDP requires Linux 5.12")]
    OldKernel(LoadError),
}

/// Loads the program that counts replies. A kernel before Linux 5.18 has no multi-buffer frames.
fn load(code: &[Insn<'_>]) -> Result<Program, EchoProberError> {
    Program::load(ProgramKind::XdpFrags, NAME, code)
        .or_else(|_| Program::load(ProgramKind::Xdp, NAME, code))
        .map_err(|error| {
            if error.is_kernel_older_than((5, 12)) {
                return EchoProberError::OldKernel(error);
            }
            XdpProgramError::from(error).into()
        })
}

fn array(value_bytes: u32, entries: u32) -> Result<abi::bpf::Map, XdpProgramError> {
    let layout = layout(value_bytes, entries);
    let map = abi::bpf::Map::create(&layout, NAME);
    Ok(map.map_err(MapError::creating(NAME, MapType::Array))?)
}

/// An array whose memory is mapped. Its values take `value_bytes`, a multiple of 8.
fn shared_array(
    value_bytes: u32,
    entries: u32,
) -> Result<(abi::bpf::Map, Region), XdpProgramError> {
    let layout = layout(value_bytes, entries);
    let error = MapError::creating(NAME, MapType::Array);
    let map = abi::bpf::Map::create_mappable(&layout, NAME).map_err(&error)?;
    let memory = Region::map(map.as_fd(), value_bytes as usize * entries as usize);
    let memory = memory.map_err(error)?;
    Ok((map, memory))
}

fn layout(value_bytes: u32, entries: u32) -> MapLayout {
    MapLayout {
        map_type: MapType::Array,
        key_bytes: 4,
        value_bytes,
        max_entries: entries,
    }
}

fn template(frame: &[u8]) -> Result<abi::bpf::Map, XdpProgramError> {
    let map = array(frame.len() as u32, 1)?;
    let written = map.update(&0u32.to_ne_bytes(), frame);
    written.map_err(MapError::creating(NAME, MapType::Array))?;
    Ok(map)
}

/// The frame with zeros where the program writes. Its IP header is at offset `ip`.
fn cleared(frame: &[u8], is_ipv6: bool, ip: usize) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let (checksum, addresses, icmp) = if is_ipv6 {
        (0..0, ip + 8..ip + 40, ip + 40)
    } else {
        (ip + 10..ip + 12, ip + 12..ip + 20, ip + 20)
    };
    let sequence = icmp + 6..icmp + PAYLOAD + COOKIE;
    for place in [0..6, checksum, addresses, icmp + 2..icmp + 4, sequence] {
        if let Some(bytes) = frame.get_mut(place) {
            bytes.fill(0);
        }
    }
    frame
}

/// The sums of the IP header and of the message of a request without addresses.
fn sums(frame: &[u8], is_ipv6: bool, ip: usize) -> [u16; 2] {
    let ip = frame.get(ip..).unwrap_or_default();
    let (header, message) = if is_ipv6 { (40, 58) } else { (20, 0) };
    let end = message_end(ip, is_ipv6);
    let message_bytes = ip.get(header..end).unwrap_or_default();
    let mut sum = sum_of(message_bytes);
    if is_ipv6 {
        let length = message_bytes.len() as u16;
        sum += u64::from(u16::from_ne_bytes(length.to_be_bytes()));
        sum += u64::from(u16::from_ne_bytes([0, message]));
    }
    [sum_of(ip.get(..header).unwrap_or_default()), sum].map(folded)
}

/// Where the message of a packet ends, by the length in its header.
fn message_end(ip: &[u8], is_ipv6: bool) -> usize {
    let at = if is_ipv6 { 4 } else { 2 };
    let length = ip
        .get(at..at + 2)
        .map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    usize::from(length) + if is_ipv6 { 40 } else { 0 }
}

/// The sum of the 16-bit words, in native order.
fn sum_of(bytes: &[u8]) -> u64 {
    let (words, last) = bytes.as_chunks();
    let last = last.first().map(|byte| [*byte, 0]);
    let words = words.iter().copied().chain(last);
    words.map(|word| u64::from(u16::from_ne_bytes(word))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The first bytes behind the cookie, and the sum of all of them: the same in both families.
fn rest(options: &EchoProberOptions, ip: usize) -> ([u8; 8], u16) {
    let frames = [(&options.ipv4, ip + 20), (&options.ipv6, ip + 40)];
    let frames = frames.into_iter();
    let mut payloads = frames.filter_map(|(frame, icmp)| {
        let end = icmp + PAYLOAD + usize::from(options.payload_bytes);
        frame.as_ref()?.get(icmp + PAYLOAD + COOKIE..end)
    });
    let rest = payloads.next().unwrap_or_default();
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(rest) {
        *to = *from;
    }
    (first, folded(sum_of(rest)))
}
