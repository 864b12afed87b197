//! What is sent, one kind after another, and what the sending host counts meanwhile.

mod echo;
mod frames;
mod tcp;
mod udp;

use super::hosts::{Counters, Family, Hosts};
use super::kind::Kind;
use super::patience::Patience;
use super::screen::Screen;
use crate::failure::Failure;

/// Traffic of one kind that was sent and has arrived.
pub struct Sent {
    pub kind: Kind,
    pub did: Did,
    /// What the left host's interface counted.
    pub counted: Counters,
}

/// What a sender knows to have done.
pub struct Did {
    /// In words.
    pub what: String,
    /// Packets in both directions, where that is known without asking the interface.
    pub packets: Option<u64>,
    /// Frames to be found again byte for byte.
    pub frames: Frames,
}

/// Frames that were sent as they are, in their order.
#[derive(Default)]
pub struct Frames {
    /// To the right host.
    pub received: Vec<Vec<u8>>,
    /// From the right host.
    pub transmitted: Vec<Vec<u8>>,
}

impl Frames {
    pub fn count(&self) -> usize {
        self.received.len() + self.transmitted.len()
    }
}

const KINDS: [Kind; 10] = [
    Kind::Tcp4,
    Kind::Tcp6,
    Kind::Udp4,
    Kind::Udp6,
    Kind::Broadcast,
    Kind::Echo4,
    Kind::Echo6,
    Kind::Arp,
    Kind::Vlan,
    Kind::QinQ,
];

/// Sends every kind to the right host and adds what was sent to `all`.
///
/// A kind has ended when all its packets have passed the left interface: whoever sends waits for
/// what is to come back, so the counters belong to this kind alone.
pub fn send(
    hosts: &mut Hosts,
    patience: &Patience<'_>,
    screen: &Screen,
    all: &mut Vec<Sent>,
) -> Result<(), Failure> {
    for kind in KINDS {
        patience.check()?;
        screen.sending(kind)?;
        let before = hosts.left.counters()?;
        let did = send_kind(kind, hosts, patience).inspect_err(|_| screen.break_line())?;
        let counted = hosts.left.counters()?.since(before);
        let sent = Sent { kind, did, counted };
        screen.sent(&sent)?;
        all.push(sent);
    }
    Ok(())
}

fn send_kind(kind: Kind, hosts: &Hosts, patience: &Patience<'_>) -> Result<Did, Failure> {
    match kind {
        Kind::Tcp4 => tcp::both_ways(hosts, Family::V4, patience),
        Kind::Tcp6 => tcp::both_ways(hosts, Family::V6, patience),
        Kind::Udp4 => udp::datagrams(hosts, Family::V4, patience),
        Kind::Udp6 => udp::datagrams(hosts, Family::V6, patience),
        Kind::Broadcast => udp::broadcasts(hosts, patience),
        Kind::Echo4 => echo::requests(hosts, Family::V4, patience),
        Kind::Echo6 => echo::requests(hosts, Family::V6, patience),
        Kind::Arp => frames::arp(hosts, patience),
        Kind::Vlan => frames::vlan(hosts, patience),
        Kind::QinQ => frames::qinq(hosts, patience),
        Kind::Other => Ok(Did::packets(String::new(), 0)),
    }
}

impl Did {
    /// So many packets.
    fn packets(what: String, packets: u64) -> Self {
        Self {
            what,
            packets: Some(packets),
            frames: Frames::default(),
        }
    }
}

/// `bytes` of text to be carried, the same each time.
fn text(bytes: usize) -> Vec<u8> {
    b"Sent by one test host to the other, to be found again in the file. "
        .iter()
        .copied()
        .cycle()
        .take(bytes)
        .collect()
}
