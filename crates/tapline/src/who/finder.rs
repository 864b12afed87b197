//! Finds the process that made a packet.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use netlink::{IfIndex, Netlink, NetlinkError, SocketProtocol, SocketTable};
use store::model::{Interface, Process};
use wire::TcpFlags;
use wire::dissect::{Transport, dissect};
use wire::metadata::Direction;

use super::helper::ProcessHelper;
use super::processes::Processes;
use crate::packet::Packet;

/// Flows that are remembered.
const FLOWS_MAX: usize = 1 << 16;

/// How long a flow belongs to the process that was found for it, unless a new connection begins.
const KNOWN_NS: u64 = 1_000_000_000;

/// How long a flow has no process after none was found.
const UNKNOWN_NS: u64 = 20_000_000;

/// Packets made on this host, by whether their process was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessCounts {
    /// The process is known.
    pub found: u64,
    /// It is not: the socket was closed or its process could not be read, or the packet is neither TCP nor UDP, or was
    /// forwarded.
    pub unknown: u64,
}

/// The process behind a packet.
#[derive(Clone, Debug)]
pub struct PacketProcess {
    /// The process.
    pub process: Arc<Process>,
    /// The same as text: `curl[4711]`, and the container and pod.
    pub words: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flow {
    protocol: SocketProtocol,
    local: SocketAddr,
    remote: SocketAddr,
}

struct FoundFlow {
    process: Option<PacketProcess>,
    /// Time of a packet up to which this holds.
    until_ns: u64,
}

/// How an interface is captured.
struct CapturedInterface {
    index: IfIndex,
    link_type: u16,
    /// Whether received packets were made here, too.
    is_loopback: bool,
}

/// Finds the processes of packets that a capture sees on their way out of the host.
///
/// A packet's addresses lead to the socket (`sock_diag`), and the socket to the process (`/proc/PID/fd`). Both are looked up
/// when the first packet of a flow arrives, so sockets older than the capture are found as well.
///
/// Not found are sockets that were closed before their packets were read; sockets of processes in other network namespaces;
/// and, without the privilege, of other users. A socket that several processes have belongs to the one that started
/// first.
///
/// Cost: one look-up in a table per packet; for a new flow two system calls; for a new socket a search of `/proc`, at most
/// 50 ms, during which packets wait in the ring. Searches take at most a tenth of the time.
///
/// # Privileges
/// `CAP_SYS_PTRACE`, and `CAP_DAC_READ_SEARCH` or `CAP_DAC_OVERRIDE`, to find the processes of other users.
pub struct ProcessFinder {
    sockets: SocketTable,
    processes: ProcessSource,
    interfaces: Vec<CapturedInterface>,
    flows: HashMap<Flow, FoundFlow>,
    counts: ProcessCounts,
}

/// Where the process of a socket is looked up.
enum ProcessSource {
    Own(Processes),
    Helper(ProcessHelper),
}

impl ProcessFinder {
    /// Finds the processes of packets of `interfaces`, in the network namespace of the calling thread. Reads all processes
    /// once.
    ///
    /// # Errors
    /// The kernel has no `sock_diag`.
    pub fn open(interfaces: &[Interface]) -> Result<Self, NetlinkError> {
        let sockets = SocketTable::open()?;
        let processes = ProcessSource::Own(Processes::find(Path::new("/proc")));
        Ok(Self::new(sockets, processes, interfaces))
    }

    /// The same with a helper, which has the privileges in place of this process.
    ///
    /// # Errors
    /// The kernel has no `sock_diag`.
    pub fn open_with(
        helper: ProcessHelper,
        interfaces: &[Interface],
    ) -> Result<Self, NetlinkError> {
        let sockets = SocketTable::open()?;
        Ok(Self::new(
            sockets,
            ProcessSource::Helper(helper),
            interfaces,
        ))
    }

    fn new(sockets: SocketTable, processes: ProcessSource, interfaces: &[Interface]) -> Self {
        let mut finder = Self {
            sockets,
            processes,
            interfaces: Vec::new(),
            flows: HashMap::new(),
            counts: ProcessCounts::default(),
        };
        for interface in interfaces {
            finder.add_interface(interface);
        }
        finder
    }

    /// Adds an interface, whose packets have the next number.
    pub fn add_interface(&mut self, interface: &Interface) {
        let name = interface.name.as_deref().unwrap_or_default();
        // Of an interface that is gone no packets come.
        let link = Netlink::open()
            .and_then(|mut netlink| netlink.link_named(name))
            .ok();
        let hardware = link.as_ref().and_then(|link| link.hardware);
        self.interfaces.push(CapturedInterface {
            index: link.map_or(IfIndex(0), |link| link.ifindex()),
            link_type: interface.link_type.0,
            is_loopback: hardware == Some(libc::ARPHRD_LOOPBACK),
        });
    }

    /// The process that made `packet`; `None` for a received packet, and if it is not found.
    pub fn find(&mut self, packet: &Packet<'_>) -> Option<&PacketProcess> {
        let interface = self.interfaces.get(packet.interface())?;
        if packet.direction() != Some(Direction::Out) && !interface.is_loopback {
            return None;
        }
        let index = interface.index;
        let time_ns = packet.time().as_nanos().unwrap_or_default();
        let Some((flow, begins)) = flow(interface.link_type, packet.data()) else {
            self.counts.unknown += 1;
            return None;
        };
        let is_known = |found: &FoundFlow| time_ns < found.until_ns && !begins;
        if !self.flows.get(&flow).is_some_and(is_known) {
            self.look_up(flow, index, time_ns);
        }
        let process = self.flows.get(&flow)?.process.as_ref();
        match process {
            Some(_) => self.counts.found += 1,
            None => self.counts.unknown += 1,
        }
        process
    }

    /// Packets so far.
    pub fn counts(&self) -> ProcessCounts {
        self.counts
    }

    fn look_up(&mut self, flow: Flow, link: IfIndex, time_ns: u64) {
        let known = self.flows.remove(&flow).and_then(|found| found.process);
        let process = match self.socket(flow, link) {
            Some(inode) => {
                let process = match &mut self.processes {
                    ProcessSource::Own(processes) => processes.of_socket(inode),
                    ProcessSource::Helper(helper) => helper.of_socket(inode),
                };
                process.map(|process| described(process, known))
            }
            // The end of a connection is sent after its process has closed the socket.
            None => known,
        };
        if self.flows.len() >= FLOWS_MAX {
            self.flows.clear();
        }
        let holds_ns = if process.is_some() {
            KNOWN_NS
        } else {
            UNKNOWN_NS
        };
        let until_ns = time_ns.saturating_add(holds_ns);
        self.flows.insert(flow, FoundFlow { process, until_ns });
    }

    /// The inode of the socket that sends the packets of `flow`.
    fn socket(&mut self, flow: Flow, link: IfIndex) -> Option<u32> {
        // A kernel without the module for the protocol finds none.
        let found = self
            .sockets
            .find(flow.protocol, flow.local, flow.remote, link);
        found.ok().flatten()?.inode
    }
}

/// The flow of a packet, and whether it begins one; `None` if it is neither TCP nor UDP.
fn flow(link_type: u16, bytes: &[u8]) -> Option<(Flow, bool)> {
    let summary = dissect(link_type, bytes);
    let (source, destination) = summary.addresses()?;
    let (from, to) = summary.ports()?;
    let (protocol, begins) = match summary.transport {
        Transport::Tcp(header) => {
            let flags = header.flags();
            let begins = flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK);
            (SocketProtocol::Tcp, begins)
        }
        Transport::Udp(_) => (SocketProtocol::Udp, false),
        _ => return None,
    };
    let flow = Flow {
        protocol,
        local: (source, from).into(),
        remote: (destination, to).into(),
    };
    Some((flow, begins))
}

fn described(process: Arc<Process>, known: Option<PacketProcess>) -> PacketProcess {
    if let Some(known) = known
        && Arc::ptr_eq(&known.process, &process)
    {
        return known;
    }
    let mut words = String::new();
    let name = process.name.as_deref().unwrap_or("?");
    // Writing to a string does not fail.
    let _ = write!(words, "{name}[{}]", process.id);
    if let Some(comment) = &process.comment {
        let _ = write!(words, " {comment}");
    }
    PacketProcess {
        words: words.into(),
        process,
    }
}
