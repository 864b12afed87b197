//! A network in virtual time: the test decides which replies arrive, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use tapline_probe::targets::{NoResolver, Targets, TargetsBuilder};
use tapline_probe::{
    Classification, EchoReply, IcmpMessage, NextAction, Probe, ProbeCounts, ProbePlan, Prober,
    RunKey,
};
use wire::checksum::internet;

pub const IDENTIFIER: u16 = 0x5eed;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

pub fn targets(words: &str) -> Targets {
    let mut builder = TargetsBuilder::default();
    builder.add_list(words, &mut NoResolver).expect("targets");
    builder.build().expect("not too many")
}

/// A plan of `rounds` rounds, one second apart, without a rate limit.
pub fn plan(rounds: u32) -> ProbePlan {
    ProbePlan {
        rounds: Some(rounds),
        rate_pps: None,
        ..ProbePlan::new(IDENTIFIER, RunKey([1, 2]))
    }
}

/// A probe in flight, as the network sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    pub destination: IpAddr,
    pub sequence: u16,
    pub payload: Vec<u8>,
    /// Of an ICMPv4 message.
    pub checksum: u16,
}

impl Packet {
    pub fn reply(&self) -> EchoReply<'_> {
        EchoReply {
            source: self.destination,
            hops: Some(64),
            identifier: IDENTIFIER,
            sequence: self.sequence,
            intact: true,
            payload: &self.payload,
        }
    }
}

pub struct World {
    pub prober: Prober,
    pub now_ns: u64,
    pub lost: Vec<Probe>,
    pub verdicts: Vec<Classification>,
    flight: BinaryHeap<Reverse<(u64, Packet)>>,
}

impl World {
    pub fn new(plan: &ProbePlan, words: &str) -> Self {
        Self {
            prober: Prober::new(plan, targets(words)).expect("a plan"),
            now_ns: 0,
            lost: Vec::new(),
            verdicts: Vec::new(),
            flight: BinaryHeap::new(),
        }
    }

    pub fn packet(&self, probe: Probe) -> Packet {
        let cookie = self.prober.cookie(probe, self.now_ns);
        let mut payload = [&cookie, self.prober.filler()].concat();
        payload.truncate(self.prober.payload_bytes(probe.target));
        if let Some(balance) = self.prober.balance(probe, &cookie) {
            payload[cookie.len()..][..balance.len()].copy_from_slice(&balance);
        }
        let request = [
            &[8, 0][..],
            &IDENTIFIER.to_be_bytes(),
            &probe.sequence().to_be_bytes(),
        ];
        Packet {
            checksum: internet(&[&request.concat()[..], &payload].concat()),
            destination: self
                .prober
                .targets()
                .address(probe.target)
                .expect("an address"),
            sequence: probe.sequence(),
            payload,
        }
    }

    /// Advances the time to the next probe. Returns the probe and its packet, which counts as sent.
    pub fn send(&mut self) -> Option<(Probe, Packet)> {
        loop {
            self.expire();
            match self.prober.next(self.now_ns) {
                NextAction::Send(probe) => {
                    let packet = self.packet(probe);
                    self.prober.sent(probe, self.now_ns);
                    return Some((probe, packet));
                }
                NextAction::Wait(until_ns) => {
                    assert!(until_ns > self.now_ns, "a wait has an end to come");
                    self.now_ns = until_ns;
                }
                NextAction::Done => return None,
            }
        }
    }

    pub fn expire(&mut self) {
        let lost = &mut self.lost;
        self.prober.expire(self.now_ns, |probe| lost.push(probe));
    }

    /// Receives a message at the current time.
    pub fn receive(&mut self, message: IcmpMessage<'_>) -> Classification {
        let now_ns = self.now_ns;
        self.prober.received(&message, Some(now_ns), now_ns)
    }

    /// Runs to the end. `network` returns the delays of the replies to a probe.
    pub fn run(&mut self, mut network: impl FnMut(Probe) -> Vec<u64>) {
        loop {
            self.expire();
            let wait_ns = match self.prober.next(self.now_ns) {
                NextAction::Send(probe) => {
                    let packet = self.packet(probe);
                    self.prober.sent(probe, self.now_ns);
                    for delay_ns in network(probe) {
                        let arrival = (self.now_ns + delay_ns, packet.clone());
                        self.flight.push(Reverse(arrival));
                    }
                    continue;
                }
                NextAction::Wait(until_ns) => until_ns,
                NextAction::Done => return,
            };
            match self.flight.peek() {
                Some(Reverse((at_ns, _))) if *at_ns <= wait_ns => {
                    let Reverse((at_ns, packet)) = self.flight.pop().expect("it was seen");
                    self.now_ns = at_ns.max(self.now_ns);
                    let verdict = self.receive(IcmpMessage::Reply(packet.reply()));
                    self.verdicts.push(verdict);
                }
                _ => {
                    assert!(wait_ns > self.now_ns, "a wait has an end to come");
                    self.now_ns = wait_ns;
                }
            }
        }
    }
}

pub fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Zero counts, modified by `change`.
pub fn counts(change: impl FnOnce(&mut ProbeCounts)) -> ProbeCounts {
    let mut counts = ProbeCounts::default();
    change(&mut counts);
    counts
}

/// A world with one probe in flight, sent at second 0.
pub fn one_in_flight(words: &str) -> (World, Probe, Packet) {
    let mut world = World::new(&plan(2), words);
    let (probe, packet) = world.send().expect("a probe");
    (world, probe, packet)
}
