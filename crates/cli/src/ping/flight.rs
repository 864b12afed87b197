//! How many probes were on their way when an answer came, which may be told of later.

use std::time::{Duration, Instant};

/// More than may leave before answers are read (`Observer::patience`).
const REMEMBERED: usize = 32;

/// When the latest probes to a target left.
pub struct Flight {
    latest: u32,
    /// By number of the probe.
    sent: [Instant; REMEMBERED],
}

impl Flight {
    /// Of a run that begins `now`.
    pub fn new(now: Instant) -> Self {
        Self {
            latest: 0,
            sent: [now; REMEMBERED],
        }
    }

    pub fn sent(&mut self, number: u32, at: Instant) {
        self.latest = number;
        self.sent[number as usize % REMEMBERED] = at;
    }

    /// When the answer to probe `number` came, after a round trip of `rtt_ns`; `None` where that is forgotten.
    pub fn arrival(&self, number: u32, rtt_ns: Option<u64>) -> Option<Instant> {
        let age = self.latest.checked_sub(number)?;
        let sent = self.sent[number as usize % REMEMBERED];
        let rtt = Duration::from_nanos(rtt_ns?);
        ((age as usize) < REMEMBERED).then(|| sent + rtt)
    }

    /// Probes from `number` on that had left when its answer `came`.
    pub fn at(&self, number: u32, came: Instant) -> u32 {
        let on_way = (self.latest + 1).saturating_sub(number);
        let later = on_way.saturating_sub(1).min(REMEMBERED as u32);
        let had_not_left =
            |back: &u32| self.sent[(self.latest - back) as usize % REMEMBERED] > came;
        on_way - (0..later).filter(had_not_left).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_after_an_answer_came_was_not_on_its_way() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let mut flight = Flight::new(start);
        for number in 1..=100 {
            flight.sent(number, ms(10 * u64::from(number)));
        }
        for (number, rtt_ms, on_way) in [
            (100, 1, 1),
            (95, 1, 1),
            (95, 15, 2),
            (95, 51, 6),
            (70, 301, 31),
        ] {
            let came = flight.arrival(number, Some(rtt_ms * 1_000_000)).unwrap();
            assert_eq!(came, ms(10 * u64::from(number) + rtt_ms));
            assert_eq!(flight.at(number, came), on_way, "{number}");
        }
        // What is forgotten came when it is told.
        assert_eq!(flight.arrival(60, Some(1)), None);
        assert_eq!(flight.arrival(99, None), None);
        assert_eq!(flight.at(60, ms(2000)), 41);
    }
}
