//! The local ports of the sockets of a control group, kept up to date by programs in the kernel.
//!
//! ```text
//! bind ─▶ post_bind ──▶ ┌───────────────┐
//!                       │ protocol, port│ ◀── the filter of a packet socket: is this one of them?
//! send ─▶ egress ─────▶ └───────────────┘
//! ```
//!
//! A port is known before the first packet with it can reach a packet socket: a bound port when `bind` returns, one that the
//! kernel chooses when the first packet leaves, which is before the interface. Ports stay known after their sockets are closed,
//! so that the packets that end a TCP connection are known, too.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::{MapType, create_cgroup_link};

use crate::map::{Map, MapError};
use crate::program::{LoadError, Program, ProgramKind};
use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size};

/// Most ports that are kept.
const MAX_PORTS: u32 = 1 << 17;

const ICMP: i32 = 1;
const ICMPV6: i32 = 58;
/// Protocols whose header begins with two ports: TCP, UDP, SCTP and UDP-Lite.
const WITH_PORTS: [i32; 4] = [6, 17, 132, 136];
/// Echo request and reply.
const ECHO: [i32; 2] = [8, 0];
const ECHO6: [i32; 2] = [128, 129];
/// `BPF_HDR_START_NET`.
const FROM_NETWORK_HEADER: i32 = 1;

/// The ports of the sockets of a control group. Dropping it detaches the programs; so does the end of the process.
#[derive(Debug)]
pub struct SocketPorts {
    ports: Map,
    _links: Vec<OwnedFd>,
}

/// Why the ports of a control group are not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketPortsError {
    /// The map could not be created.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A program could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A program could not be attached.
    #[error("cannot attach a program to the control group")]
    Attach(#[source] io::Error),
}

impl SocketPorts {
    /// Attaches the programs to a control group of version 2, whose directory `cgroup` is. The ports of sockets that exist
    /// already become known when they send.
    ///
    /// # Errors
    /// [`SocketPortsError`] names the step.
    /// # Privileges
    /// `CAP_BPF` and `CAP_NET_ADMIN`.
    /// # Kernel
    /// Linux 5.7.
    pub fn attach(cgroup: BorrowedFd<'_>) -> Result<Self, SocketPortsError> {
        let ports = Map::of_ports("tapline_ports", MapType::Hash, MAX_PORTS)?;
        let mut links = Vec::new();
        for kind in [
            ProgramKind::CgroupBound4,
            ProgramKind::CgroupBound6,
            ProgramKind::CgroupEgress,
        ] {
            let code = match kind {
                ProgramKind::CgroupEgress => sent(ports.as_fd()),
                _ => bound(ports.as_fd()),
            };
            let program = Program::load(kind, "tapline_ports", &code)?;
            let place = kind.cgroup_place().unwrap_or_default();
            let link = create_cgroup_link(program.as_fd(), cgroup, place);
            links.push(link.map_err(SocketPortsError::Attach)?);
        }
        Ok(Self {
            ports,
            _links: links,
        })
    }

    /// Code that goes to `other` unless the packet in the context `R6` is one with a known local port. Uses
    /// `stack` to `stack + 24` below `R10`, and all registers but `R6` and `R9`. Labels from `first` on are its own.
    pub(crate) fn code(&self, stack: i16, first: Label, other: Label) -> Vec<Insn<'_>> {
        // Offset in `struct __sk_buff`, and `PACKET_OUTGOING`.
        const PKT_TYPE: i16 = 4;
        const OUTGOING: i32 = 4;
        let labels = Labels::from(first);
        let mut code = vec![
            Insn::load(Size::Word, Reg::R8, Reg::R6, PKT_TYPE),
            // 0 in R8: sent, and the local port is the source.
            Insn::alu32(Alu::Xor, Reg::R8, OUTGOING),
        ];
        code.extend(key_of_packet(stack, &labels, other));
        code.extend(with_key(self.ports.as_fd(), stack));
        code.extend([
            Insn::Call(Helper::MapLookupElem),
            Insn::jump_if(Condition::Equal, Reg::R0, 0, other),
        ]);
        code
    }
}

/// The labels of [`key_of_packet`].
struct Labels {
    ipv6: Label,
    transport: Label,
    icmp: Label,
    icmpv6: Label,
    echo: Label,
    ports: Label,
    source: Label,
    key: Label,
}

impl Labels {
    const COUNT: u32 = 8;

    fn from(Label(first): Label) -> Self {
        let label = |number| Label(first + number);
        Self {
            ipv6: label(0),
            transport: label(1),
            icmp: label(2),
            icmpv6: label(3),
            echo: label(4),
            ports: label(5),
            source: label(6),
            key: label(7),
        }
    }
}

/// R1 map, R2 address of the key at `stack`.
fn with_key(ports: BorrowedFd<'_>, stack: i16) -> [Insn<'_>; 3] {
    [
        Insn::LoadMap {
            dst: Reg::R1,
            map: ports,
        },
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, i32::from(stack)),
    ]
}

/// Adds the key at `stack`, and returns 1.
fn add_key(ports: BorrowedFd<'_>, stack: i16) -> Vec<Insn<'_>> {
    let mut code = vec![Insn::store(Size::Word, Reg::R10, stack + 8, 1)];
    code.extend(with_key(ports, stack));
    code.extend([
        Insn::mov(Reg::R3, Reg::R10),
        Insn::add(Reg::R3, i32::from(stack + 8)),
        Insn::mov32(Reg::R4, 0),
        Insn::Call(Helper::MapUpdateElem),
    ]);
    code
}

/// The program for a socket that has got its local port.
fn bound(ports: BorrowedFd<'_>) -> Vec<Insn<'_>> {
    const STACK: i16 = -16;
    // Offsets in `struct bpf_sock`. The port is in the host's byte order.
    const PROTOCOL: i16 = 12;
    const SOURCE_PORT: i16 = 44;
    let mut code = vec![
        Insn::load(Size::Word, Reg::R2, Reg::R1, PROTOCOL),
        Insn::load(Size::Word, Reg::R3, Reg::R1, SOURCE_PORT),
        Insn::alu32(Alu::Lsh, Reg::R2, 16),
        Insn::alu32(Alu::Or, Reg::R2, Reg::R3),
        Insn::store(Size::Word, Reg::R10, STACK, Reg::R2),
    ];
    code.extend(add_key(ports, STACK));
    code.extend([Insn::mov32(Reg::R0, 1), Insn::Exit]);
    code
}

/// The program for packets that are sent.
fn sent(ports: BorrowedFd<'_>) -> Vec<Insn<'_>> {
    const STACK: i16 = -24;
    let end = Label(Labels::COUNT);
    let mut code = vec![Insn::mov(Reg::R6, Reg::R1), Insn::mov32(Reg::R8, 0)];
    code.extend(key_of_packet(STACK, &Labels::from(Label(0)), end));
    code.extend(add_key(ports, STACK));
    code.extend([Insn::Place(end), Insn::mov32(Reg::R0, 1), Insn::Exit]);
    code
}

/// Stores protocol and local port of the packet as a key at `stack`. In `R8`: 0 if the packet is sent. Goes to `other`
/// for packets without a local port.
fn key_of_packet(stack: i16, labels: &Labels, other: Label) -> Vec<Insn<'static>> {
    let bytes = stack + 4;
    // Copies bytes at the offset in R2 behind the network header.
    let load = |count: i32| {
        [
            Insn::mov(Reg::R1, Reg::R6),
            Insn::mov(Reg::R3, Reg::R10),
            Insn::add(Reg::R3, i32::from(bytes)),
            Insn::mov32(Reg::R4, count),
            Insn::mov32(Reg::R5, FROM_NETWORK_HEADER),
            Insn::Call(Helper::SkbLoadBytesRelative),
            Insn::jump_if(Condition::NotEqual, Reg::R0, 0, other),
        ]
    };
    let byte = |dst, at: i16| Insn::load(Size::Byte, dst, Reg::R10, bytes + at);
    let half = |dst, at: i16| Insn::load(Size::Half, dst, Reg::R10, bytes + at);
    let mut code = vec![Insn::mov32(Reg::R2, 0)];
    code.extend(load(12));
    code.extend([
        byte(Reg::R1, 0),
        Insn::alu32(Alu::Rsh, Reg::R1, 4),
        Insn::jump_if32(Condition::Equal, Reg::R1, 6, labels.ipv6),
        Insn::jump_if32(Condition::NotEqual, Reg::R1, 4, other),
        // Later fragments have no ports.
        half(Reg::R1, 6),
        Insn::Be16ToHost { dst: Reg::R1 },
        Insn::jump_if32(Condition::AnyBitSet, Reg::R1, 0x1fff, other),
        byte(Reg::R7, 9),
        byte(Reg::R2, 0),
        Insn::alu32(Alu::And, Reg::R2, 15),
        Insn::alu32(Alu::Lsh, Reg::R2, 2),
        Insn::Jump {
            target: labels.transport,
        },
        Insn::Place(labels.ipv6),
        byte(Reg::R7, 6),
        Insn::mov32(Reg::R2, 40),
        Insn::Place(labels.transport),
    ]);
    code.extend(load(8));
    for protocol in WITH_PORTS {
        code.push(Insn::jump_if32(
            Condition::Equal,
            Reg::R7,
            protocol,
            labels.ports,
        ));
    }
    code.extend([
        Insn::jump_if32(Condition::Equal, Reg::R7, ICMP, labels.icmp),
        Insn::jump_if32(Condition::Equal, Reg::R7, ICMPV6, labels.icmpv6),
        // Other protocols count as a whole.
        Insn::mov32(Reg::R3, 0),
        Insn::Jump { target: labels.key },
        // The identifier of an echo is its port: of a request that is sent, and of a reply that is received.
        Insn::Place(labels.icmp),
        Insn::mov32(Reg::R4, ECHO[0]),
        Insn::jump_if32(Condition::Equal, Reg::R8, 0, labels.echo),
        Insn::mov32(Reg::R4, ECHO[1]),
        Insn::Jump {
            target: labels.echo,
        },
        Insn::Place(labels.icmpv6),
        Insn::mov32(Reg::R4, ECHO6[0]),
        Insn::jump_if32(Condition::Equal, Reg::R8, 0, labels.echo),
        Insn::mov32(Reg::R4, ECHO6[1]),
        Insn::Place(labels.echo),
        byte(Reg::R1, 0),
        Insn::jump_if32(Condition::NotEqual, Reg::R1, Reg::R4, other),
        half(Reg::R3, 4),
        Insn::Be16ToHost { dst: Reg::R3 },
        Insn::Jump { target: labels.key },
        Insn::Place(labels.ports),
        Insn::jump_if32(Condition::Equal, Reg::R8, 0, labels.source),
        half(Reg::R3, 2),
        Insn::Be16ToHost { dst: Reg::R3 },
        Insn::Jump { target: labels.key },
        Insn::Place(labels.source),
        half(Reg::R3, 0),
        Insn::Be16ToHost { dst: Reg::R3 },
        Insn::Place(labels.key),
        Insn::alu32(Alu::Lsh, Reg::R7, 16),
        Insn::alu32(Alu::Or, Reg::R7, Reg::R3),
        Insn::store(Size::Word, Reg::R10, stack, Reg::R7),
    ]);
    code
}
