//! Which probe a message answers, and how.

use super::cookie::{COOKIE_BYTES, Cookie, claimed_target, last_with_low_bits};
use super::message::{ErrorMessage, Message, Reply};
use super::network_error::NetworkError;
use super::probe::Probe;
use super::prober::Prober;
use super::record::First;
use super::schedule::Past;
use super::verdict::Verdict;

/// Bits of the sequence number.
const SEQUENCE_BITS: u32 = 16;

impl Prober {
    /// Judges `message` and counts it.
    ///
    /// `stamp_ns` is when it arrived, by the kernel; `None` when that cannot be told in the run's time,
    /// as after a step of the wall clock. Then `now_ns` decides whether it is late, and it is not timed.
    #[inline]
    pub fn received(
        &mut self,
        message: &Message<'_>,
        stamp_ns: Option<u64>,
        now_ns: u64,
    ) -> Verdict {
        let verdict = match message {
            Message::Reply(reply) => self.reply(reply, stamp_ns, now_ns),
            Message::Error(error) => self.error(error),
        };
        match verdict {
            Verdict::Foreign => self.others.foreign += 1,
            Verdict::Forged => self.others.forged += 1,
            Verdict::CutShort { .. } => self.others.cut_short += 1,
            Verdict::Stale { .. } => self.others.stale += 1,
            Verdict::WrongSource { .. } => self.others.wrong_source += 1,
            Verdict::Notice { .. } => self.others.notices += 1,
            Verdict::Corrupt { target, .. } => {
                self.records.corrupt(self.schedule.place_of(target));
            }
            Verdict::Duplicate { probe, .. } => {
                self.records.duplicate(self.schedule.place_of(probe.target));
            }
            Verdict::Received { .. } | Verdict::Late { .. } | Verdict::Error { .. } => {}
        }
        verdict
    }

    /// The probe whose payload begins with these bytes, as far as they are those of one, and when it was
    /// sent, nanoseconds since the run began.
    #[inline]
    pub fn identify(&self, sequence: u16, payload: &[u8]) -> Option<(Probe, u64)> {
        let cookie = self.cookies.read(payload.first_chunk()?, sequence)?;
        let turn = self.turn_of(cookie)?;
        Some((turn.probe, cookie.sent_ns))
    }

    /// The target that a payload says it is of, which anybody may have written.
    #[inline]
    pub fn claimed_target(payload: &[u8]) -> Option<u32> {
        payload.first_chunk().map(claimed_target)
    }

    #[inline]
    fn reply(&mut self, reply: &Reply<'_>, stamp_ns: Option<u64>, now_ns: u64) -> Verdict {
        if reply.identifier != self.identifier {
            return Verdict::Foreign;
        }
        let (cookie, is_whole) = self.take_apart(reply.payload);
        let Some(cookie) = cookie.and_then(|cookie| self.cookies.read(cookie, reply.sequence))
        else {
            return self.without_cookie(reply, is_whole);
        };
        let Some(turn) = self.turn_of(cookie) else {
            return Verdict::Forged;
        };
        let probe = turn.probe;
        if !is_whole || !reply.intact {
            return Verdict::Corrupt {
                target: probe.target,
                probe: Some(probe),
            };
        }
        let source = reply.source;
        if source != self.targets.address(probe.target) {
            return Verdict::WrongSource { probe, source };
        }
        self.schedule.gates().heard(probe.target);
        let rtt_ns = stamp_ns.and_then(|stamp_ns| stamp_ns.checked_sub(cookie.sent_ns));
        let age_ns = rtt_ns.unwrap_or(now_ns.saturating_sub(cookie.sent_ns));
        let had_ended = turn.slot < self.walked;
        match self.records.answer(turn.seat, turn.issued) {
            First::Unknown => Verdict::Stale { probe },
            First::No => Verdict::Duplicate { probe, rtt_ns },
            First::Yes if age_ns > self.timeout_ns => {
                self.records.late(turn.seat.place, had_ended);
                Verdict::Late { probe, rtt_ns }
            }
            First::Yes => {
                let is_reordered = self.records.is_overtaken(turn.seat);
                self.records.received(turn.seat, rtt_ns, had_ended);
                self.others.reordered += u64::from(is_reordered);
                self.others.untimed += u64::from(rtt_ns.is_none());
                Verdict::Received {
                    probe,
                    rtt_ns,
                    is_reordered,
                }
            }
        }
    }

    fn error(&mut self, message: &ErrorMessage<'_>) -> Verdict {
        let quote = &message.quote;
        if quote.identifier != self.identifier || !message.intact {
            return Verdict::Foreign;
        }
        let cookie = quote.payload.first_chunk();
        let turn = if let Some(cookie) = cookie {
            let cookie = self.cookies.read(cookie, quote.sequence);
            match cookie.and_then(|cookie| self.turn_of(cookie)) {
                Some(turn) => turn,
                None if self.is_filled_as_ours(&quote.payload[COOKIE_BYTES..]) => {
                    return Verdict::Forged;
                }
                None => return Verdict::Foreign,
            }
        } else {
            let Some(target) = self.targets.find(quote.destination) else {
                return Verdict::Foreign;
            };
            let low = u32::from(quote.sequence);
            let number = |issued| last_with_low_bits(low, SEQUENCE_BITS, issued);
            match self.schedule.past(target, number) {
                Some(turn) => turn,
                None => return Verdict::Foreign,
            }
        };
        let probe = turn.probe;
        let is_proven = cookie.is_some();
        let error = NetworkError {
            router: message.router,
            kind: message.kind,
            code: message.code,
        };
        self.errors.count(error);
        if !error.is_final() {
            return Verdict::Notice { probe, error };
        }
        let had_ended = turn.slot < self.walked;
        // Anybody could have sent what proves nothing, so until its time is up the probe is waited for.
        let is_doubtful = !is_proven && !had_ended;
        let first = if is_doubtful {
            self.records.doubt(turn.seat, turn.issued)
        } else {
            self.records.answer(turn.seat, turn.issued)
        };
        match first {
            First::Yes => {
                if !is_doubtful {
                    self.records.error(turn.seat.place, had_ended);
                    self.others.unproven += u64::from(!is_proven);
                }
                Verdict::Error {
                    probe,
                    error,
                    is_proven,
                }
            }
            First::No => Verdict::Duplicate {
                probe,
                rtt_ns: None,
            },
            First::Unknown => Verdict::Stale { probe },
        }
    }

    /// The cookie of a payload, and whether the rest of it is as it was sent.
    #[inline]
    fn take_apart<'a>(&self, payload: &'a [u8]) -> (Option<&'a [u8; COOKIE_BYTES]>, bool) {
        match payload.split_first_chunk() {
            Some((cookie, rest)) => (Some(cookie), *rest == *self.filler),
            None => (None, false),
        }
    }

    /// Whether what follows a cookie, as far as it is quoted, is what follows those of this run.
    fn is_filled_as_ours(&self, rest: &[u8]) -> bool {
        let len = rest.len().min(self.filler.len());
        rest[..len] == self.filler[..len]
    }

    /// The turn of the probe that a cookie names.
    #[inline]
    fn turn_of(&self, cookie: Cookie) -> Option<Past> {
        if cookie.target >= self.targets.len() {
            return None;
        }
        let number = |issued| cookie.number(issued);
        self.schedule.past(cookie.target, number)
    }

    /// What a reply is whose cookie is not one of ours.
    fn without_cookie(&self, reply: &Reply<'_>, is_whole: bool) -> Verdict {
        if is_whole && reply.intact {
            return Verdict::Forged;
        }
        // A damaged answer of a target differs from another program's sound one by its checksum.
        match self.targets.find(reply.source) {
            Some(target) if !reply.intact => Verdict::Corrupt {
                target,
                probe: None,
            },
            Some(target) if reply.payload.len() < COOKIE_BYTES => Verdict::CutShort { target },
            _ => Verdict::Foreign,
        }
    }
}
