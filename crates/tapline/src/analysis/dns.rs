//! DNS queries and how long their answers took.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use probe::Histogram;
use wire::{Application, Dns, dns::DnsFlags};

use super::remove_lower_half;

/// Queries that wait for an answer. When there are more, those that wait longest are given up.
const WAITING_MAX: usize = 1 << 16;

/// A query with the same addresses, ports and identifier is the same one, sent again, if it comes sooner. Wireshark's default is the same.
const REPEAT_NS: u64 = 5_000_000_000;

/// The client, the server and the identifier.
type Query = (SocketAddr, SocketAddr, u16);

/// DNS over UDP and TCP at port 53: of a TCP segment its first message, if it starts with one.
#[derive(Clone, Debug, Default)]
pub struct DnsAnalysis {
    /// Queries, without those that were repeated.
    pub queries: u64,
    /// Queries with the addresses, ports and identifier of one that has waited for its answer for less than 5 s.
    pub repeated: u64,
    /// Responses to a query in the capture.
    pub answered: u64,
    /// Responses without one.
    pub unasked: u64,
    /// Queries that were given up because too many waited.
    pub given_up: u64,
    /// From query to response, nanoseconds.
    pub times: Histogram,
    /// Responses by response code.
    pub codes: BTreeMap<u8, u64>,
    /// Queries after which another one with the same addresses, ports and identifier came.
    replaced: u64,
    waiting: HashMap<Query, u64>,
}

impl DnsAnalysis {
    pub(super) fn add(
        &mut self,
        application: &Application<'_>,
        from: SocketAddr,
        to: SocketAddr,
        time_ns: u64,
    ) {
        let message = match *application {
            Application::Dns(dns) => Some(dns),
            Application::DnsStream(stream) => stream.get(2..).and_then(|m| Dns::parse(m, 0).ok()),
            _ => None,
        };
        let Some(message) = message else {
            return;
        };
        if message.flags().contains(DnsFlags::RESPONSE) {
            *self.codes.entry(message.flags().rcode()).or_default() += 1;
            match self.waiting.remove(&(to, from, message.id())) {
                Some(asked_ns) => {
                    self.answered += 1;
                    self.times.record(time_ns.saturating_sub(asked_ns));
                }
                None => self.unasked += 1,
            }
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            let (given_up, _) = remove_lower_half(&mut self.waiting, |&asked_ns| asked_ns);
            self.given_up += given_up;
        }
        match self.waiting.entry((from, to, message.id())) {
            Entry::Occupied(asked) if time_ns.saturating_sub(*asked.get()) < REPEAT_NS => {
                self.repeated += 1;
            }
            Entry::Occupied(mut asked) => {
                asked.insert(time_ns);
                self.replaced += 1;
                self.queries += 1;
            }
            Entry::Vacant(vacant) => {
                vacant.insert(time_ns);
                self.queries += 1;
            }
        }
    }

    /// Queries without an answer in the capture.
    pub fn unanswered(&self) -> u64 {
        self.waiting.len() as u64 + self.given_up + self.replaced
    }
}
