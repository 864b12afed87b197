//! Buffers of sockets: how many packets may wait for a reader who is held up.

use std::net::{Ipv4Addr, UdpSocket};

use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

/// A packet of up to some 600 bytes takes this much of a buffer (`skb->truesize`).
const PACKET_BYTES: u64 = 832;
/// Some 5,000 packets: 50 ms of 100,000 packets a second.
const ENOUGH_BYTES: u64 = 4 << 20;

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let receive = "probes and watches lose what comes while they are held up, and take it for loss \
        on the way";
    one(
        "receive-buffer",
        "net.core.rmem_max",
        receive,
        roots,
        report,
    );
    let send = "bursts of probes and of sent packets come to a halt while the buffer is full";
    one("send-buffer", "net.core.wmem_max", send, roots, report);
}

fn one(id: &'static str, name: &str, spoils: &str, roots: &Roots, report: &mut Report) {
    let bytes = match roots.number(name) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return report.unknown(id, format!("{name} is not shown in this namespace")),
        Err(error) => return report.failed(id, &error),
    };
    // The kernel doubles what is asked for, to have room for its own part of it.
    let packets = bytes.saturating_mul(2) / PACKET_BYTES;
    report.can(id, format!("{bytes} bytes, {packets} small packets"));
    if bytes >= ENOUGH_BYTES {
        return;
    }
    let (severity, whom) = if can_force() {
        (Severity::Info, ", but for who has CAP_NET_ADMIN")
    } else {
        (Severity::Warning, "")
    };
    let seen = format!("{name} is {bytes}: a socket holds {packets} small packets{whom}");
    let finding = Finding::new(id, severity, seen, spoils);
    report.found(finding.remedy(roots.set_for_all(&[(name, ENOUGH_BYTES * 4)])));
}

/// Whether this process may go beyond the limit.
fn can_force() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    socket.is_ok_and(|socket| set_socket_recv_buffer_size_force(&socket, 1 << 20).is_ok())
}
