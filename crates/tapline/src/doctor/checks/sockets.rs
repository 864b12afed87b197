//! Sockets: filter length, buffers, locked memory, busy polling, and permission to ping.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use abi::bpf::{SockFilter, attach_classic};
use abi::kernel::counts_bpf_as_locked;
use abi::socket;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto, socket_with};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use crate::doctor::change::Change;
use crate::doctor::paths::{SystemPaths, is_per_namespace};
use crate::doctor::report::{Finding, Report, Severity};

const FILTER_LENGTH: &str = "filter-memory";
const OPTMEM: &str = "net.core.optmem_max";
/// Default since Linux 6.6, bytes.
const DEFAULT_OPTMEM: &str = "131072";
/// Longest classic BPF program (`BPF_MAXINSNS`, linux/bpf_common.h).
const MAX_INSTRUCTIONS: usize = 4096;

pub(super) fn check_filter_length(paths: &SystemPaths, report: &mut Report) {
    let longest = match longest_filter() {
        Ok(longest) => longest,
        Err(error) => return report.add_error(FILTER_LENGTH, &error),
    };
    if longest == MAX_INSTRUCTIONS {
        let value =
            format!("filters of up to {MAX_INSTRUCTIONS} instructions (the kernel's limit)");
        return report.add_ability(FILTER_LENGTH, value);
    }
    let limit = paths.sysctl(OPTMEM).ok().flatten();
    let limit = limit.map_or_else(String::new, |limit| format!(" ({OPTMEM} is {limit})"));
    let finding = Finding::warning(
        FILTER_LENGTH,
        format!(
            "a socket accepts filters of {longest} instructions instead of {MAX_INSTRUCTIONS}{limit}"
        ),
        "the kernel runs only a coarse version of longer filters: it copies more packets, and the reader \
            filters them",
    );
    let change = Change::Sysctl {
        name: OPTMEM.into(),
        value: DEFAULT_OPTMEM.into(),
    };
    report.add(if is_per_namespace(OPTMEM) == Some(true) {
        finding.change(change)
    } else {
        finding.command(change.command())
    });
}

/// Instructions of the longest filter that the kernel attaches to a socket, found by bisection.
///
/// # Source
/// `sk_filter_charge`, net/core/filter.c.
fn longest_filter() -> io::Result<usize> {
    let is_accepted = |length: usize| {
        // A new socket each time: while a filter is replaced, the socket is charged for both.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // Loads (BPF_LD|BPF_IMM), then a return that rejects the packet (BPF_RET|BPF_K).
        let mut program = vec![instruction(0); length - 1];
        program.push(instruction(6));
        match attach_classic(socket.as_fd(), &program) {
            Ok(()) => Ok(true),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOMEM) => Ok(false),
            Err(error) => Err(error),
        }
    };
    if is_accepted(MAX_INSTRUCTIONS)? {
        return Ok(MAX_INSTRUCTIONS);
    }
    let (mut accepted, mut rejected) = (0, MAX_INSTRUCTIONS);
    while rejected - accepted > 1 {
        let middle = usize::midpoint(accepted, rejected);
        if is_accepted(middle)? {
            accepted = middle;
        } else {
            rejected = middle;
        }
    }
    Ok(accepted)
}

fn instruction(code: u16) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k: 0,
    }
}

/// Buffer space that a packet of up to about 600 bytes takes (`skb->truesize`).
const PACKET_BYTES: u64 = 832;
/// Room for about 5000 packets: 50 ms at 100 000 packets/s.
const ENOUGH_BUFFER_BYTES: u64 = 4 << 20;

pub(super) fn check_buffers(paths: &SystemPaths, report: &mut Report) {
    let receive = "pings and netlink watches drop packets while their reader is delayed, and report them as \
        network loss";
    check_buffer(
        "receive-buffer",
        "net.core.rmem_max",
        receive,
        paths,
        report,
    );
    let send = "bursts of pings and sent packets stall while the buffer is full";
    check_buffer("send-buffer", "net.core.wmem_max", send, paths, report);
}

fn check_buffer(
    id: &'static str,
    name: &str,
    effect: &str,
    paths: &SystemPaths,
    report: &mut Report,
) {
    let bytes = match paths.sysctl_number(name) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return report.add_unknown(id, not_visible(name)),
        Err(error) => return report.add_error(id, &error),
    };
    // The kernel doubles the requested size to make room for its own structures.
    let packets = bytes.saturating_mul(2) / PACKET_BYTES;
    report.add_ability(id, format!("{bytes} bytes, {packets} small packets"));
    if bytes >= ENOUGH_BUFFER_BYTES {
        return;
    }
    let (severity, exception) = if can_exceed_buffer_limits() {
        (Severity::Info, " (CAP_NET_ADMIN exceeds the limit)")
    } else {
        (Severity::Warning, "")
    };
    let observed = format!("{name} is {bytes}: a socket holds {packets} small packets{exception}");
    let finding = Finding::new(id, severity, observed, effect);
    report.add(finding.command(paths.set_host_sysctls(&[(name, ENOUGH_BUFFER_BYTES * 4)])));
}

pub(super) fn not_visible(sysctl: &str) -> String {
    format!("{sysctl} is not visible in this network namespace")
}

/// Whether this process may set buffers beyond the limit (`SO_RCVBUFFORCE`).
fn can_exceed_buffer_limits() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    socket.is_ok_and(|socket| set_socket_recv_buffer_size_force(&socket, 1 << 20).is_ok())
}

const LOCKED_MEMORY: &str = "locked-memory";
const ENOUGH_LOCKED_BYTES: u64 = 64 << 20;

/// AF_XDP sockets lock the memory of their rings and packets. Before Linux 5.11, that of eBPF counts as locked, too.
pub(super) fn check_locked_memory(_: &SystemPaths, report: &mut Report) {
    let sets = match capabilities(None) {
        Ok(sets) => sets,
        Err(errno) => return report.add_error(LOCKED_MEMORY, &io::Error::from(errno)),
    };
    let has = |capability| sets.effective.contains(capability) && is_in_initial_user_namespace();
    let limit = getrlimit(Resource::Memlock);
    let locked = LockedMemory {
        has_ipc_lock: has(CapabilitySet::IPC_LOCK),
        limit: limit.current,
        // The limit is raised before a map is created (`abi::kernel`).
        for_bpf: (counts_bpf_as_locked() && !has(CapabilitySet::SYS_RESOURCE))
            .then_some(limit.maximum)
            .flatten(),
    };
    report.add_ability(LOCKED_MEMORY, locked.to_string());
    if let Some(bytes) = locked.for_sockets().filter(|n| *n < ENOUGH_LOCKED_BYTES) {
        let observed = format!("the locked-memory limit is {bytes} bytes, without CAP_IPC_LOCK");
        let effect = "AF_XDP rings cannot be larger";
        let finding = Finding::warning(LOCKED_MEMORY, observed, effect);
        report.add(finding.command("prlimit --pid $$ --memlock=unlimited"));
    }
    if let Some(bytes) = locked.for_bpf.filter(|n| *n < ENOUGH_LOCKED_BYTES) {
        let observed =
            format!("the locked-memory limit is at most {bytes} bytes, without CAP_SYS_RESOURCE");
        let effect =
            "eBPF maps and programs cannot be larger, because this kernel counts them as locked";
        let finding = Finding::warning(LOCKED_MEMORY, observed, effect);
        report.add(finding.command("prlimit --pid $$ --memlock=unlimited"));
    }
}

/// Bytes that may be locked.
struct LockedMemory {
    /// Whether the limit does not apply to sockets (`xdp_umem_account_pages`, net/xdp/xdp_umem.c).
    has_ipc_lock: bool,
    /// The limit; `None` is unlimited.
    limit: Option<u64>,
    /// The limit of eBPF maps and programs, if there is one (`bpf_map_charge_memlock`, kernel/bpf/syscall.c before Linux
    /// 5.11).
    for_bpf: Option<u64>,
}

impl LockedMemory {
    fn for_sockets(&self) -> Option<u64> {
        self.limit.filter(|_| !self.has_ipc_lock)
    }
}

impl fmt::Display for LockedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.for_sockets() {
            Some(bytes) => write!(f, "{bytes} bytes")?,
            None if self.has_ipc_lock => f.write_str("unlimited (CAP_IPC_LOCK)")?,
            None => f.write_str("unlimited")?,
        }
        match self.for_bpf {
            Some(bytes) => write!(f, "; of eBPF {bytes} bytes"),
            None => Ok(()),
        }
    }
}

/// A capability in another user namespace lifts no limit (`xdp_umem_account_pages`, net/xdp/xdp\_umem.c).
/// As a rule, only the initial user namespace maps every user to itself.
fn is_in_initial_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

const BUSY_READ: &str = "busy-read";
const BUSY_POLL: &str = "busy-poll";
const BUSY_EFFECT: &str = "each waiting reader uses a whole CPU, in exchange for lower latency";

pub(super) fn check_busy_polling(paths: &SystemPaths, report: &mut Report) {
    check_busy_read(paths, report);
    check_busy_poll(paths, report);
}

/// poll(2) and select(2) use a host-wide setting that no socket reports.
fn check_busy_poll(paths: &SystemPaths, report: &mut Report) {
    match paths.sysctl_number("net.core.busy_poll") {
        Ok(Some(0)) => report.add_ability(BUSY_POLL, "off"),
        Ok(Some(spin_us)) => {
            let observed =
                format!("poll spins for {spin_us} us before it sleeps (net.core.busy_poll)");
            let finding = Finding::info(BUSY_POLL, observed, BUSY_EFFECT);
            report.add(finding.command(paths.set_host_sysctls(&[("net.core.busy_poll", 0)])));
        }
        Ok(None) => report.add_ability(BUSY_POLL, "not visible in this network namespace"),
        Err(error) => report.add_error(BUSY_POLL, &error),
    }
}

/// A new socket starts with the value of `net.core.busy_read`, which most namespaces do not show.
fn check_busy_read(paths: &SystemPaths, report: &mut Report) {
    let spin_us = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|udp| socket::option::<i32>(udp.as_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL));
    let Some(spin_us) = report.value_or_unknown(BUSY_READ, spin_us) else {
        return;
    };
    if spin_us == 0 {
        return report.add_ability(BUSY_READ, "off");
    }
    let observed = format!("sockets spin for {spin_us} us before they sleep (net.core.busy_read)");
    let finding = Finding::info(BUSY_READ, observed, BUSY_EFFECT);
    report.add(finding.command(paths.set_host_sysctls(&[("net.core.busy_read", 0)])));
}

const PING_SOCKET: &str = "ping-socket";
const PING_GROUPS: &str = "net.ipv4.ping_group_range";

pub(super) fn check_ping_sockets(paths: &SystemPaths, report: &mut Report) {
    let raw = open_icmp(SocketType::RAW, ipproto::ICMP);
    let datagram = open_icmp(SocketType::DGRAM, ipproto::ICMP);
    match (raw, datagram) {
        (Ok(()), _) => report.add_ability(
            PING_SOCKET,
            "raw sockets permitted: all ping features available",
        ),
        (Err(_), Ok(())) => {
            report.add_ability(PING_SOCKET, "ping sockets permitted: echo requests only");
        }
        (Err(error), Err(_)) if error.kind() == io::ErrorKind::PermissionDenied => {
            let range = paths.sysctl(PING_GROUPS).ok().flatten();
            let range = range.map_or_else(
                || "is not visible".into(),
                |range| {
                    let words: Vec<&str> = range.split_whitespace().collect();
                    format!("is \"{}\"", words.join(" "))
                },
            );
            let observed =
                format!("neither raw nor ping sockets are permitted ({PING_GROUPS} {range})");
            let finding = Finding::warning(PING_SOCKET, observed, "this user cannot ping");
            report.add(finding.command(format!("sysctl -w '{PING_GROUPS}=0 2147483647'")));
        }
        (Err(error), Err(_)) => report.add_error(PING_SOCKET, &error),
    }
}

fn open_icmp(kind: SocketType, protocol: Protocol) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, kind, flags, Some(protocol));
    socket.map(drop).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on Linux 5.10: `CAP_IPC_LOCK` lifts the limit of sockets alone.
    #[test]
    fn ebpf_has_a_limit_of_its_own() {
        let locked = |has_ipc_lock, limit, for_bpf| LockedMemory {
            has_ipc_lock,
            limit,
            for_bpf,
        };
        for (locked, text, for_sockets) in [
            (
                locked(true, Some(65536), None),
                "unlimited (CAP_IPC_LOCK)",
                None,
            ),
            (
                locked(true, Some(65536), Some(65536)),
                "unlimited (CAP_IPC_LOCK); of eBPF 65536 bytes",
                None,
            ),
            (locked(false, Some(65536), None), "65536 bytes", Some(65536)),
            (locked(false, None, None), "unlimited", None),
        ] {
            assert_eq!(locked.to_string(), text);
            assert_eq!(locked.for_sockets(), for_sockets, "{text}");
        }
    }
}
