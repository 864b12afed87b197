//! The settings of a running capture in words, and back.

use std::time::Duration;

use tapline::capture::{DeliveryMode, DirectionFilter, RunningSettings, Sampling};
use tapline::control::{ControlledSettings, Setting};

use crate::args::{AUTO_BYTES, Delivery, TARGET, sample};

/// Batch of a capture that did not begin with batches.
const BATCH: DeliveryMode = DeliveryMode::Batch {
    min_bytes: 1 << 20,
    timeout: Duration::from_millis(100),
};

/// The delivery, and those to which the words `batch` and `adaptive` return.
pub struct Deliveries {
    now: DeliveryMode,
    batch: DeliveryMode,
    adaptive: DeliveryMode,
}

impl Deliveries {
    pub fn new(now: DeliveryMode) -> Self {
        let mut this = Self {
            now,
            batch: BATCH,
            adaptive: DeliveryMode::Adaptive { target: TARGET },
        };
        this.set(now);
        this
    }

    pub fn set(&mut self, now: DeliveryMode) {
        match now {
            DeliveryMode::Batch { .. } => self.batch = now,
            DeliveryMode::Adaptive { .. } => self.adaptive = now,
            _ => {}
        }
        self.now = now;
    }

    /// The delivery with one setting changed, and its words.
    pub fn changed(&self, setting: &Setting) -> Result<(DeliveryMode, String), String> {
        let mut next = self.now;
        let what = match (setting, &mut next) {
            (Setting::Delivery(word), _) => {
                next = match clap::ValueEnum::from_str(word, false)? {
                    Delivery::Immediate => DeliveryMode::Immediate,
                    Delivery::Adaptive => self.adaptive,
                    Delivery::Batch => self.batch,
                };
                format!("delivery {word}")
            }
            (Setting::MinBytes(bytes), DeliveryMode::Batch { min_bytes, .. }) => {
                *min_bytes = usize::try_from(*bytes).map_err(|error| error.to_string())?;
                format!("min-bytes {bytes}")
            }
            (Setting::TimeoutNs(ns), DeliveryMode::Batch { timeout, .. }) => {
                *timeout = Duration::from_nanos(*ns);
                format!("timeout {:?}", *timeout)
            }
            _ => return Err("this needs 'delivery batch' first".to_owned()),
        };
        Ok((next, what))
    }
}

pub fn sampling(text: &str) -> Result<Option<Sampling>, String> {
    match text {
        "off" => Ok(None),
        text => sample(text).map(Some),
    }
}

/// What `ctl stats` shows.
pub fn shown(settings: &RunningSettings) -> ControlledSettings {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let mut shown = ControlledSettings {
        snaplen: settings.snaplen,
        buffer_bytes: settings.buffer_bytes as u64,
        sample: (settings.sampling).map_or_else(|| "off".to_owned(), |rate| rate.to_string()),
        direction: match settings.direction {
            DirectionFilter::In => "in",
            DirectionFilter::Out => "out",
            DirectionFilter::Both => "both",
        }
        .to_owned(),
        delivery: String::new(),
        min_bytes: None,
        timeout_ns: None,
        latency_target_ns: None,
        stall_ns: settings.stall.map(ns),
    };
    let word = match settings.delivery {
        DeliveryMode::Immediate => "immediate",
        DeliveryMode::Batch { min_bytes, timeout }
        | DeliveryMode::Blocks {
            bytes: min_bytes,
            timeout,
        } => {
            shown.min_bytes = (min_bytes != AUTO_BYTES).then_some(min_bytes as u64);
            shown.timeout_ns = Some(ns(timeout));
            "batch"
        }
        DeliveryMode::Adaptive { target } => {
            shown.latency_target_ns = Some(ns(target));
            "adaptive"
        }
        _ => "unknown",
    };
    word.clone_into(&mut shown.delivery);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_returns_as_it_was() {
        let target = Duration::from_micros(50);
        let begun = DeliveryMode::Adaptive { target };
        let mut deliveries = Deliveries::new(begun);
        let mut change = |setting| {
            let (next, _) = deliveries.changed(&setting)?;
            deliveries.set(next);
            Ok::<_, String>(next)
        };
        let word = |word: &str| Setting::Delivery(word.to_owned());
        assert_eq!(change(word("immediate")), Ok(DeliveryMode::Immediate));
        assert_eq!(change(word("adaptive")), Ok(begun));
        assert_eq!(change(word("batch")), Ok(BATCH));
        let timeout = Duration::from_millis(7);
        let shorter = change(Setting::TimeoutNs(7_000_000));
        let expected = DeliveryMode::Batch {
            min_bytes: 1 << 20,
            timeout,
        };
        assert_eq!(shorter, Ok(expected));
        assert_eq!(change(word("adaptive")), Ok(begun));
        assert_eq!(change(word("batch")), Ok(expected));
    }
}
