//! Matching of received messages to probes.

use std::net::IpAddr;

use crate::classification::Classification;
use crate::cookie::{COOKIE_BYTES, Cookie, claimed_target, last_with_low_bits, short_target};
use crate::message::{EchoReply, IcmpError, IcmpMessage, QuotedProbe};
use crate::path::BALANCE_BYTES;
use crate::probe::Probe;
use crate::prober::Prober;
use crate::schedule::IssuedSlot;
use crate::statistics::{AnswerOrder, NetworkError};

/// Bits of the sequence number.
const SEQUENCE_BITS: u32 = 16;

impl Prober {
    /// Classifies `message` and counts it.
    ///
    /// `stamp_ns` is its arrival time. `None` means that the arrival time is unknown, for example after
    /// the wall clock was set. Then `now_ns` decides whether it is late, and it has no round-trip time.
    #[inline]
    pub fn received(
        &mut self,
        message: &IcmpMessage<'_>,
        stamp_ns: Option<u64>,
        now_ns: u64,
    ) -> Classification {
        let class = match message {
            IcmpMessage::Reply(reply) => self.classify_reply(reply, stamp_ns, now_ns),
            IcmpMessage::Error(error) => self.classify_error(error),
        };
        match class {
            Classification::Foreign => self.other_counts.foreign += 1,
            Classification::Forged => self.other_counts.forged += 1,
            Classification::CutShort { .. } => self.other_counts.cut_short += 1,
            Classification::Stale { .. } => self.other_counts.stale += 1,
            Classification::WrongSource { .. } => self.other_counts.wrong_source += 1,
            Classification::Notice { .. } => self.other_counts.notices += 1,
            Classification::Corrupt { target, .. } => {
                self.statistics.corrupt(self.schedule.position_of(target));
            }
            Classification::Duplicate { probe, .. } => {
                self.statistics
                    .duplicate(self.schedule.position_of(probe.target));
            }
            Classification::Received { probe, .. }
            | Classification::Late { probe, .. }
            | Classification::Error { probe, .. } => self.note_end(probe.target),
        }
        class
    }

    /// The probe whose payload starts with the cookie in `payload`, and its send time in nanoseconds since
    /// the start of the run. `None` if the cookie is not one of this run.
    #[inline]
    pub fn identify(&self, sequence: u16, payload: &[u8]) -> Option<(Probe, u64)> {
        let cookie = self.cookies.decode(payload.first_chunk()?, sequence)?;
        let issued = self.issued_by(cookie)?;
        Some((issued.probe, cookie.sent_ns))
    }

    /// The target named in a payload, without verification.
    #[inline]
    pub fn claimed_target(payload: &[u8]) -> Option<u32> {
        payload.first_chunk().map(claimed_target)
    }

    #[inline]
    fn classify_reply(
        &mut self,
        reply: &EchoReply<'_>,
        stamp_ns: Option<u64>,
        now_ns: u64,
    ) -> Classification {
        if reply.identifier != self.identifier {
            return Classification::Foreign;
        }
        if let Some(target) = self.short_target(reply.payload) {
            return self.classify_short_reply(target, reply, stamp_ns, now_ns);
        }
        let Some((cookie, bytes)) = reply.payload.first_chunk().and_then(|bytes| {
            let cookie = self.cookies.decode(bytes, reply.sequence)?;
            Some((cookie, bytes))
        }) else {
            return self.classify_unproven_reply(reply);
        };
        let Some(issued) = self.issued_by(cookie) else {
            return Classification::Forged;
        };
        let probe = issued.probe;
        let rest = &reply.payload[COOKIE_BYTES..];
        let is_balanced =
            (self.balance(probe, bytes)).is_none_or(|balance| rest.starts_with(&balance));
        let is_whole = self.without_balance(rest) == self.tail(probe.target);
        if !is_whole || !is_balanced || !reply.intact {
            return Classification::Corrupt {
                target: probe.target,
                probe: Some(probe),
            };
        }
        self.answer(issued, cookie.sent_ns, reply.source, stamp_ns, now_ns)
    }

    /// Classifies a verified answer from `source`.
    #[inline]
    fn answer(
        &mut self,
        issued: IssuedSlot,
        sent_ns: u64,
        source: IpAddr,
        stamp_ns: Option<u64>,
        now_ns: u64,
    ) -> Classification {
        let probe = issued.probe;
        if self.accounts.is_closed(probe.target, probe.round) {
            return Classification::Stale { probe };
        }
        if self.targets.address(probe.target) != Some(source) {
            return Classification::WrongSource { probe, source };
        }
        self.schedule.limits().answered(probe.target);
        let rtt_ns = stamp_ns.and_then(|stamp_ns| stamp_ns.checked_sub(sent_ns));
        let age_ns = rtt_ns.unwrap_or(now_ns.saturating_sub(sent_ns));
        let was_lost = issued.slot_number < self.expired_slots;
        match self.statistics.settle(issued.slot, issued.issued) {
            AnswerOrder::Unknown => Classification::Stale { probe },
            AnswerOrder::Repeated => Classification::Duplicate { probe, rtt_ns },
            AnswerOrder::First if age_ns > self.own.timeout_ns(probe.target) => {
                self.statistics.late(issued.slot.position, was_lost);
                Classification::Late { probe, rtt_ns }
            }
            AnswerOrder::First => {
                let is_reordered = self.statistics.is_overtaken(issued.slot);
                self.statistics.received(issued.slot, rtt_ns, was_lost);
                self.other_counts.reordered += u64::from(is_reordered);
                self.other_counts.untimed += u64::from(rtt_ns.is_none());
                Classification::Received {
                    probe,
                    rtt_ns,
                    is_reordered,
                }
            }
        }
    }

    fn classify_error(&mut self, message: &IcmpError<'_>) -> Classification {
        let quote = &message.quote;
        if quote.identifier != self.identifier || !message.intact {
            return Classification::Foreign;
        }
        let quoted = self.quoted_target(quote);
        let is_short = quoted.is_some_and(|target| self.own.payload_bytes(target) < COOKIE_BYTES);
        let cookie = quote.payload.first_chunk().filter(|_| !is_short);
        let issued = if let Some(cookie) = cookie {
            let cookie = self.cookies.decode(cookie, quote.sequence);
            match cookie.and_then(|cookie| self.issued_by(cookie)) {
                Some(issued) => issued,
                None if self.has_our_filler(&quote.payload[COOKIE_BYTES..]) => {
                    return Classification::Forged;
                }
                None => return Classification::Foreign,
            }
        } else {
            let Some(target) = quoted else {
                return Classification::Foreign;
            };
            let low = u32::from(quote.sequence);
            let number = |issued| last_with_low_bits(low, SEQUENCE_BITS, issued);
            match self.schedule.issued_slot(target, number) {
                Some(issued) => issued,
                None => return Classification::Foreign,
            }
        };
        let probe = issued.probe;
        if self.accounts.is_closed(probe.target, probe.round) {
            return Classification::Stale { probe };
        }
        let is_proven = cookie.is_some();
        let error = NetworkError {
            router: message.router,
            kind: message.kind,
            code: message.code,
        };
        self.errors.count(error);
        if !error.is_final() {
            return Classification::Notice { probe, error };
        }
        let was_lost = issued.slot_number < self.expired_slots;
        // Anyone could have sent an unproven error, so the probe stays in flight until its timeout.
        let is_unproven = !is_proven && !was_lost;
        let order = if is_unproven {
            self.statistics.note_unproven(issued.slot, issued.issued)
        } else {
            self.statistics.settle(issued.slot, issued.issued)
        };
        match order {
            AnswerOrder::First => {
                if !is_unproven {
                    self.statistics.error(issued.slot.position, was_lost);
                    self.other_counts.unproven += u64::from(!is_proven);
                }
                Classification::Error {
                    probe,
                    error,
                    is_proven,
                }
            }
            AnswerOrder::Repeated => Classification::Duplicate {
                probe,
                rtt_ns: None,
            },
            AnswerOrder::Unknown => Classification::Stale { probe },
        }
    }

    /// The target that a payload names which is as short as the target's, and has no room for a cookie.
    #[inline]
    fn short_target(&self, payload: &[u8]) -> Option<u32> {
        if self.own.is_empty() || payload.len() >= COOKIE_BYTES {
            return None;
        }
        let target = short_target(payload).filter(|target| *target < self.targets.len())?;
        (self.own.payload_bytes(target) == payload.len()).then_some(target)
    }

    /// Classifies a reply without room for a cookie: its sequence number tells which probe it answers.
    fn classify_short_reply(
        &mut self,
        target: u32,
        reply: &EchoReply<'_>,
        stamp_ns: Option<u64>,
        now_ns: u64,
    ) -> Classification {
        let low = u32::from(reply.sequence);
        let number = |issued| last_with_low_bits(low, SEQUENCE_BITS, issued);
        let issued = self.schedule.issued_slot(target, number);
        let expected = issued.map(|issued| self.cookies.encode_short(issued.probe));
        if !reply.intact {
            let probe = issued.map(|issued| issued.probe);
            return Classification::Corrupt { target, probe };
        }
        let (Some(issued), Some(expected)) = (issued, expected) else {
            return Classification::Forged;
        };
        match self.own.sent_ns(target, issued.probe.round) {
            Some(sent_ns) if expected.starts_with(reply.payload) => {
                self.answer(issued, sent_ns, reply.source, stamp_ns, now_ns)
            }
            _ => Classification::Forged,
        }
    }

    /// The bytes after the cookie that are the same in every probe to `target`.
    #[inline]
    fn tail(&self, target: u32) -> &[u8] {
        let bytes = self.own.payload_bytes(target).saturating_sub(COOKIE_BYTES);
        self.without_balance(&self.filler[..bytes])
    }

    #[inline]
    fn without_balance<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        match self.balance {
            Some(_) => rest.get(BALANCE_BYTES..).unwrap_or_default(),
            None => rest,
        }
    }

    /// The target of a quoted probe without a cookie. The checksum tells the paths to a host apart.
    fn quoted_target(&self, quote: &QuotedProbe<'_>) -> Option<u32> {
        let first = self.targets.find(quote.destination)?;
        if self.balance.is_none() {
            return Some(first);
        }
        let mut paths = self.targets.of_host(self.targets.host(first));
        paths.find(|target| {
            let path = self.targets.path(*target);
            path.is_some_and(|path| path.checksum == quote.checksum)
        })
    }

    /// Whether the quoted bytes after the cookie match the filler of this run.
    fn has_our_filler(&self, rest: &[u8]) -> bool {
        let (rest, filler) = (
            self.without_balance(rest),
            self.without_balance(&self.filler),
        );
        let len = rest.len().min(filler.len());
        rest[..len] == filler[..len]
    }

    /// The issued probe that a cookie names.
    #[inline]
    fn issued_by(&self, cookie: Cookie) -> Option<IssuedSlot> {
        if cookie.target >= self.targets.len() {
            return None;
        }
        let number = |issued| cookie.number(issued);
        self.schedule.issued_slot(cookie.target, number)
    }

    /// Classifies a reply without a valid cookie.
    fn classify_unproven_reply(&self, reply: &EchoReply<'_>) -> Classification {
        let is_whole = |target| {
            let rest = reply.payload.get(COOKIE_BYTES..);
            rest.is_some_and(|rest| self.without_balance(rest) == self.tail(target))
        };
        let is_ours = if self.own.is_empty() {
            is_whole(0)
        } else {
            self.targets.find(reply.source).is_some_and(is_whole)
        };
        if is_ours && reply.intact {
            return Classification::Forged;
        }
        // A wrong checksum distinguishes a damaged answer from one to another program.
        match self.targets.find(reply.source) {
            Some(target) if !reply.intact => Classification::Corrupt {
                target,
                probe: None,
            },
            Some(target) if reply.payload.len() < COOKIE_BYTES => {
                Classification::CutShort { target }
            }
            _ => Classification::Foreign,
        }
    }
}
