//! All classes in one program.

use std::os::fd::{AsFd, BorrowedFd};

use filter::ebpf::{
    ClassifierLabels, Condition, Fragment, Helper, Insn as AnyInsn, KnownProtocol, Label,
    PacketAssumptions, Reg, Size, TagLocation, classify, prologue,
};

use super::class::CountedFilter;
use super::code::{CONTEXT, COUNTERS, Code, VLAN_PRESENT};
use super::decode;
use super::key::{self, KeyField};
use super::section::{CountingHook, Header};
use super::size::{self, Overhead};
use super::stamps;
use super::stream_table::StreamMaps;
use super::tally::{ClassSlot, by_key, count};
use super::{MOST_CLASSES, marks};
use crate::map::Map;
use crate::program::{LoadError, Program, ProgramKind};

const XDP_PASS: i32 = 2;
/// Leaves the verdict to the next tc program (`TCX_NEXT`, and `TC_ACT_UNSPEC` with clsact).
const TC_NEXT: i32 = -1;

/// A class of a counting program.
#[derive(Clone, Copy, Debug)]
pub struct CountedClass<'m> {
    /// Where the class counts.
    pub slot: ClassSlot,
    /// Its filter. `None` counts all packets.
    pub filter: Option<&'m CountedFilter>,
}

/// What a counting program counts, and where.
#[derive(Clone, Copy, Debug)]
pub struct CountingOptions<'m> {
    /// Where the program runs.
    pub place: CountingHook,
    /// Bytes added to the kernel's packet lengths.
    pub overhead: Overhead,
    /// The counters of all slots.
    pub counters: BorrowedFd<'m>,
    /// Group field and table. The table has keys of [`GROUP_KEY_BYTES`](super::GROUP_KEY_BYTES) bytes and counts packets
    /// and bytes.
    pub groups: Option<(KeyField, BorrowedFd<'m>)>,
    /// Where stamped packets are counted by stream; `None` does not look for stamps.
    pub streams: Option<StreamMaps<'m>>,
}

/// Filter instructions in one program. The verifier needs time and memory for each way through a program: a filter that
/// searches all layers has 30,000 instructions and takes it half a second, and about seven of them exceed its limit.
const MOST_INSTRUCTIONS: usize = 64_000;
/// Programs in a chain. The kernel allows 33 tail calls (`MAX_TAIL_CALL_CNT`, include/linux/bpf.h).
const MOST_PROGRAMS: usize = 32;

/// A program that counts classes and passes all packets. If the filters are too long for one program, it is a chain:
/// each program counts some of the classes and continues with the next one.
#[derive(Debug)]
pub struct CountingProgram {
    /// The program to attach.
    first: Program,
    /// The arrays that lead from each program to the next.
    joints: Vec<Map>,
}

impl CountingProgram {
    /// Generates the programs for `classes` and loads them.
    ///
    /// # Panics
    /// With groups and more than [`MOST_CLASSES`](super::MOST_CLASSES) classes.
    /// # Errors
    /// [`LoadError`]. The verifier accepts at most 64 maps: those of the filters' sets, and two more.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.9; with XDP and groups 5.18.
    pub fn load(
        name: &str,
        options: &CountingOptions<'_>,
        classes: &[CountedClass<'_>],
    ) -> Result<Self, LoadError> {
        assert!(
            options.groups.is_none() || classes.len() <= MOST_CLASSES,
            "a mark for each class"
        );
        let kind = if options.place.is_xdp() {
            ProgramKind::Xdp
        } else {
            ProgramKind::Tc
        };
        let mut parts = parts(classes).into_iter().rev();
        let last = parts.next().unwrap_or_default();
        let mut first = Program::load(kind, name, &write(options, last, None))?;
        let mut joints = Vec::new();
        for part in parts {
            let next = Map::of_program(name, first.as_fd())?;
            first = Program::load(kind, name, &write(options, part, Some(next.as_fd())))?;
            joints.push(next);
        }
        Ok(Self { first, joints })
    }

    /// The program to attach. It counts all classes as long as this value exists.
    pub fn program(&self) -> &Program {
        &self.first
    }

    /// Number of programs that run for each packet.
    pub fn program_count(&self) -> usize {
        self.joints.len() + 1
    }
}

/// Splits the classes so that the filters of each part fit into a program; a long filter gets a program of its own.
fn parts<'a, 'm>(classes: &'a [CountedClass<'m>]) -> Vec<&'a [CountedClass<'m>]> {
    let sizes: Vec<usize> = (classes.iter().map(|class| class.filter))
        .map(|filter| filter.map_or(0, CountedFilter::instructions))
        .collect();
    // Two neighbouring parts together exceed the maximum, so at most every second program is needless.
    let most = MOST_INSTRUCTIONS.max(sizes.iter().sum::<usize>().div_ceil(MOST_PROGRAMS / 2));
    let (mut parts, mut start, mut sum) = (Vec::new(), 0, 0);
    for (at, size) in sizes.into_iter().enumerate() {
        if sum + size > most && at > start {
            parts.push(&classes[start..at]);
            (start, sum) = (at, 0);
        }
        sum += size;
    }
    parts.push(&classes[start..]);
    parts
}

/// The program for `classes`. It continues with the program in the array `next`, if there is one.
fn write<'m>(
    options: &CountingOptions<'m>,
    classes: &[CountedClass<'m>],
    next: Option<BorrowedFd<'m>>,
) -> Vec<crate::Insn<'m>> {
    let mut code = Code::new(options.place);
    let [counted, pass] = [code.label(), code.label()];
    // The last program of a chain.
    let streams = options.streams.as_ref().filter(|_| next.is_none());
    if !classes.is_empty() || streams.is_some() {
        begin(&mut code, options, classes, pass);
        for section in sections(&mut code, options, classes) {
            code.place(section.1);
            write_section(&mut code, section.0, options, classes);
            code.jump(counted);
        }
        code.place(counted);
        if let Some((_, table)) = options.groups {
            write_groups(&mut code, classes, table);
        }
        if let Some(maps) = streams {
            stamps::count(&mut code, maps);
        }
    }
    let verdict = if options.place.is_xdp() {
        XDP_PASS
    } else {
        TC_NEXT
    };
    code.place(pass);
    if let Some(map) = next {
        code.extend([
            AnyInsn::mov(Reg::R1, CONTEXT),
            AnyInsn::LoadMap { dst: Reg::R2, map },
            AnyInsn::mov32(Reg::R3, 0),
            AnyInsn::Call(Helper::TailCall),
        ]);
    }
    code.push(AnyInsn::mov32(Reg::R0, verdict));
    code.push(AnyInsn::Exit);
    code.insns
}

/// Code before all classes: the packet's addresses, the counters, its size and key.
fn begin<'m>(
    code: &mut Code<'m>,
    options: &CountingOptions<'m>,
    classes: &[CountedClass<'m>],
    pass: Label,
) {
    let filters = classes.iter().filter_map(|class| class.filter);
    let fragments = filters.flat_map(|filter| &filter.fragments);
    let direct_bytes = fragments.map(|(_, fragment)| fragment.direct_bytes).max();
    let labels = [code.label(), code.label()];
    let addresses = prologue(options.place.at, direct_bytes.unwrap_or(0), labels);
    code.extend(addresses);
    code.extend([
        AnyInsn::store(Size::Word, Reg::R10, -4, 0),
        AnyInsn::mov(Reg::R2, Reg::R10),
        AnyInsn::add(Reg::R2, -4),
        AnyInsn::LoadMap {
            dst: Reg::R1,
            map: options.counters,
        },
        AnyInsn::Call(Helper::MapLookupElem),
        AnyInsn::jump_if(Condition::Equal, Reg::R0, 0, pass),
        AnyInsn::store(Size::Double, Reg::R10, COUNTERS, Reg::R0),
    ]);
    size::measure(code, options.overhead);
    if let Some((field, _)) = options.groups {
        key::find(code, field);
        marks::clear(code, classes.len());
    }
}

/// Dispatches by kind of packet where that saves work. Returns the sections to generate.
fn sections(
    code: &mut Code<'_>,
    options: &CountingOptions<'_>,
    classes: &[CountedClass<'_>],
) -> Vec<(PacketAssumptions, Label)> {
    let place = options.place;
    let mut sections = Vec::new();
    let with_filters = classes.iter().filter(|class| class.filter.is_some());
    let sorts = place.header == Header::Ethernet && with_filters.count() > 0;
    if !sorts {
        let label = code.label();
        let tag = place.tags()[0];
        let protocol = KnownProtocol::Any;
        let target = place.at;
        sections.push((
            PacketAssumptions {
                target,
                tag,
                protocol,
            },
            label,
        ));
        return sections;
    }
    let tagged = code.label();
    if place.tags().contains(&TagLocation::InBytes) {
        find_tag(code, tagged);
    }
    for &tag in place.tags() {
        if tag == TagLocation::InBytes {
            code.place(tagged);
        }
        let to = ClassifierLabels {
            packets: KnownProtocol::CLASSIFIED.map(|_| code.label()),
            any: code.label(),
        };
        let own = [code.label(), code.label()];
        let sorting = classify(tag, to, own);
        code.extend(sorting);
        let target = place.at;
        let packets = KnownProtocol::CLASSIFIED.into_iter().zip(to.packets);
        for (protocol, label) in packets.chain([(KnownProtocol::Any, to.any)]) {
            sections.push((
                PacketAssumptions {
                    target,
                    tag,
                    protocol,
                },
                label,
            ));
        }
    }
    sections
}

/// Jumps if a whole VLAN tag follows the addresses and the kernel holds none beside the bytes.
fn find_tag(code: &mut Code<'_>, tagged: Label) {
    let short = code.label();
    if !code.place.is_xdp() {
        code.extend([
            AnyInsn::load(Size::Word, Reg::R0, CONTEXT, VLAN_PRESENT),
            AnyInsn::jump_if(Condition::NotEqual, Reg::R0, 0, short),
        ]);
    }
    code.extend([
        AnyInsn::mov(Reg::R1, Reg::R7),
        AnyInsn::add(Reg::R1, 18),
        AnyInsn::jump_if(Condition::Greater, Reg::R1, Reg::R8, short),
        AnyInsn::load(Size::Half, Reg::R0, Reg::R7, 12),
    ]);
    decode::is_tag(code, tagged);
    code.place(short);
}

/// Every class, for packets of one shape.
fn write_section<'m>(
    code: &mut Code<'m>,
    shape: PacketAssumptions,
    options: &CountingOptions<'m>,
    classes: &[CountedClass<'m>],
) {
    let has_groups = options.groups.is_some();
    let count = |code: &mut Code<'m>, number, slot| {
        count(code, slot);
        if has_groups {
            marks::set(code, number);
        }
    };
    let forgets = |(_, class): &(usize, &CountedClass<'m>)| {
        let fragment = class.filter.and_then(|filter| filter.fragment(shape));
        fragment.is_some_and(|fragment| fragment.loses_bounds)
    };
    let (last, first): (Vec<_>, Vec<_>) = classes.iter().enumerate().partition(forgets);
    for (number, class) in first.into_iter().chain(last) {
        match class.filter {
            None => count(code, number, class.slot),
            Some(filter) => {
                let Some(fragment) = filter.fragment(shape) else {
                    continue;
                };
                ask(code, filter, fragment, |code| {
                    count(code, number, class.slot);
                });
            }
        }
    }
}

/// Counts by key for each class that matches the packet.
fn write_groups<'m>(code: &mut Code<'m>, classes: &[CountedClass<'m>], table: BorrowedFd<'m>) {
    for (number, class) in classes.iter().enumerate() {
        let next = code.label();
        marks::unless_set(code, number, next);
        by_key(code, class.slot, table);
        code.place(next);
    }
}

/// The filter fragment, and the code for packets that it accepts.
fn ask<'m>(
    code: &mut Code<'m>,
    filter: &'m CountedFilter,
    fragment: &Fragment,
    accept: impl FnOnce(&mut Code<'m>),
) {
    let accepts = |insn: &AnyInsn<_>| insn.target() == Some(Fragment::ACCEPT);
    if !fragment.code.iter().any(accepts) {
        return;
    }
    let Label(first) = code.labels(fragment.labels);
    let to = |Label(number)| Label(first + number);
    // Every set has a map if `FilterMaps` is correct; otherwise the class counts nothing.
    let Some(insns) = filter.maps.resolve(&fragment.code) else {
        return;
    };
    code.extend(insns.into_iter().map(|insn| insn.with_label(to)));
    code.place(to(Fragment::ACCEPT));
    accept(code);
    code.place(to(Fragment::REJECT));
}
