//! The traffic of the demo: one kind after another, with what the sending interface counted for it.

mod echo;
mod frames;
pub mod kind;
pub mod sent;
mod tcp;
mod udp;

use self::kind::Kind;
use self::sent::Sent;
use super::deadline::Deadline;
use super::hosts::{Family, Hosts};
use crate::failure::Failure;

/// Sends traffic of this kind and counts its packets at the left interface.
///
/// Returns when all its packets have passed that interface, because the sender waits for the answers. So the
/// interface's counters belong to one kind at a time.
pub fn send_counted(
    kind: Kind,
    hosts: &mut Hosts,
    deadline: &Deadline<'_>,
) -> Result<Sent, Failure> {
    deadline.check()?;
    let before = hosts.left.counters()?;
    let sent = send_kind(kind, hosts, deadline)?;
    let counted = hosts.left.counters()?.since(before);
    Ok(Sent { counted, ..sent })
}

fn send_kind(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
    match kind {
        Kind::Tcp4 => tcp::exchange(kind, hosts, Family::V4, deadline),
        Kind::Tcp6 => tcp::exchange(kind, hosts, Family::V6, deadline),
        Kind::Udp4 => udp::send(kind, hosts, Family::V4, deadline),
        Kind::Udp6 => udp::send(kind, hosts, Family::V6, deadline),
        Kind::Broadcast => udp::broadcast(kind, hosts, deadline),
        Kind::Echo4 => echo::ping(kind, hosts, Family::V4, deadline),
        Kind::Echo6 => echo::ping(kind, hosts, Family::V6, deadline),
        Kind::Arp => frames::arp(kind, hosts, deadline),
        Kind::Vlan => frames::vlan(kind, hosts, deadline),
        Kind::QinQ => frames::qinq(kind, hosts, deadline),
        Kind::Other => Ok(Sent::new(kind, String::new(), Some(0))),
    }
}
