//! One interface of a hotplug capture: its capture, read without waiting and merged with the others by time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use ring::InterfaceInfo;
use store::model;

use super::super::account::summary::Ended;
use super::super::job::Capture;
use super::super::read::consumer::{Consumer, ConsumerError};
use super::cooked::CookedWriter;
use crate::packet::Packet;

/// A captured interface.
pub struct Member {
    pub capture: Capture,
    /// Gives its packets the common link type, if they get one.
    pub cooked: Option<(CookedWriter, InterfaceInfo)>,
}

/// The captured interfaces, by the number that packets carry.
#[derive(Default)]
pub struct Members(BTreeMap<u32, Member>);

/// The result of reading.
#[derive(Debug, Default)]
pub struct Reading {
    /// Packets delivered.
    pub packets: u64,
    /// Members whose captures have ended.
    pub ended: Vec<u32>,
    /// Why the consumer failed.
    pub failure: Option<ConsumerError>,
}

impl Members {
    pub fn insert(&mut self, number: u32, member: Member) {
        self.0.insert(number, member);
    }

    pub fn remove(&mut self, number: u32) -> Option<Member> {
        self.0.remove(&number)
    }

    pub fn has(&self, number: u32) -> bool {
        self.0.contains_key(&number)
    }

    pub fn numbers(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }

    /// The members whose rings are being replaced.
    pub fn settling(&self) -> Vec<u32> {
        let settling = self
            .iter()
            .filter(|(_, member)| member.capture.engine.is_settling());
        settling.map(|(number, _)| number).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Member)> {
        self.0.iter().map(|(&number, member)| (number, member))
    }

    /// Ends the flow of packets of `numbers`. Those in their rings can still be read.
    pub fn close(&mut self, numbers: &[u32]) {
        for number in numbers {
            if let Some(member) = self.0.get_mut(number) {
                member.capture.close(Ended::Stopped);
            }
        }
    }

    /// Delivers the packets of `numbers` that are ready, at most `remaining`, oldest first.
    pub fn read<C: Consumer>(
        &mut self,
        numbers: &[u32],
        remaining: u64,
        consumer: &mut C,
    ) -> Reading {
        let mut reading = Reading::default();
        let mut oldest = BinaryHeap::with_capacity(numbers.len());
        for &number in numbers {
            let Some(member) = self.0.get_mut(&number) else {
                continue;
            };
            match member.capture.next_batch(Duration::ZERO) {
                Ok(None) => reading.ended.push(number),
                _ => oldest.extend(member.next_time().map(|time| Reverse((time, number)))),
            }
        }
        while let Some(Reverse((_, number))) = oldest.pop() {
            let others = oldest.peek().map_or(u64::MAX, |&Reverse((time, _))| time);
            let Some(member) = self.0.get_mut(&number) else {
                continue;
            };
            let mut next = member.next_time();
            while next.is_some_and(|time| time <= others) {
                if reading.packets >= remaining {
                    return reading;
                }
                match member.deliver(number, consumer) {
                    Ok(packets) => reading.packets += packets,
                    Err(error) => {
                        reading.failure = Some(error);
                        return reading;
                    }
                }
                next = member.next_time();
            }
            oldest.extend(next.map(|time| Reverse((time, number))));
        }
        reading
    }
}

impl Member {
    /// The time of its next packet that is ready.
    fn next_time(&mut self) -> Option<u64> {
        self.capture.ready_time()
    }

    /// Delivers the packet that [`next_time`](Self::next_time) found, and returns the number of packets delivered:
    /// none if it is malformed.
    fn deliver<C: Consumer>(
        &mut self,
        number: u32,
        consumer: &mut C,
    ) -> Result<u64, ConsumerError> {
        let Self {
            capture, cooked, ..
        } = self;
        let Some(packet) = capture.take_ready() else {
            return Ok(0);
        };
        let mut record = model::Packet {
            interface: number,
            ..*packet.record()
        };
        if let Some((writer, link)) = cooked {
            record = writer.cook(&record, link);
        }
        consumer.packet(&Packet::from(record))?;
        Ok(1)
    }
}
