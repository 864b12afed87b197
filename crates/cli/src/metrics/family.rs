//! Counters by name and labels, and their text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

/// The media type of [`text`](text()).
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Counters that share a name.
#[derive(Clone, Debug)]
pub struct Family {
    /// Without `tapline_` in front and `_total` behind.
    pub name: &'static str,
    pub help: &'static str,
    /// They count bytes, which then stands in the name.
    pub is_bytes: bool,
    pub samples: Samples,
}

/// The samples of a family.
#[derive(Clone, Debug)]
pub enum Samples {
    Counters(Vec<Sample>),
    /// Values that can also decrease; `_total` is not part of the name.
    Gauges(Vec<Sample>),
    Durations(Vec<Durations>),
}

/// A histogram of durations: how many were in each bucket.
#[derive(Clone, Debug)]
pub struct Durations {
    pub labels: Vec<(&'static str, String)>,
    pub sum_seconds: f64,
    pub count: u64,
    /// Upper bounds in seconds, and how many are at most that long but longer than the one before; the
    /// last is `f64::INFINITY`.
    pub buckets: Vec<(f64, u64)>,
}

/// Returns the current counters. The server calls it for each request.
pub type Counters = Box<dyn Fn() -> Vec<Family> + Send>;

/// One counter. What is unknown is none: a sample is not there rather than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub labels: Vec<(&'static str, String)>,
    pub value: u64,
}

impl Family {
    /// Counters of anything but bytes.
    pub fn counters(
        name: &'static str,
        help: &'static str,
        samples: impl Into<Vec<Sample>>,
    ) -> Self {
        Self {
            name,
            help,
            is_bytes: false,
            samples: Samples::Counters(samples.into()),
        }
    }

    /// Gauges of anything but bytes.
    pub fn gauges(name: &'static str, help: &'static str, samples: impl Into<Vec<Sample>>) -> Self {
        Self {
            samples: Samples::Gauges(samples.into()),
            ..Self::counters(name, help, [])
        }
    }

    /// The same, counting bytes.
    pub fn of_bytes(self) -> Self {
        Self {
            is_bytes: true,
            ..self
        }
    }
}

impl Sample {
    /// A counter with these labels and their values.
    pub fn new<const N: usize>(labels: [(&'static str, &str); N], value: u64) -> Self {
        Self {
            labels: labels.map(|(name, label)| (name, label.to_owned())).into(),
            value,
        }
    }
}

/// The families in the text format of OpenMetrics.
///
/// # Source
/// OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md).
pub fn text(families: Vec<Family>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("tapline");
    registry.register_collector(Box::new(Families(families)));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let (unit, kind) = match &family.samples {
                Samples::Counters(_) => {
                    (family.is_bytes.then_some(Unit::Bytes), MetricType::Counter)
                }
                Samples::Gauges(_) => (family.is_bytes.then_some(Unit::Bytes), MetricType::Gauge),
                Samples::Durations(_) => (Some(Unit::Seconds), MetricType::Histogram),
            };
            let (name, help) = (family.name, family.help);
            let mut encoder = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            match &family.samples {
                Samples::Counters(samples) => {
                    for sample in samples {
                        let encoder = encoder.encode_family(&sample.labels)?;
                        ConstCounter::new(sample.value).encode(encoder)?;
                    }
                }
                Samples::Gauges(samples) => {
                    for sample in samples {
                        let encoder = encoder.encode_family(&sample.labels)?;
                        ConstGauge::new(sample.value).encode(encoder)?;
                    }
                }
                Samples::Durations(all) => {
                    for durations in all {
                        let mut encoder = encoder.encode_family(&durations.labels)?;
                        encoder.encode_histogram::<NoLabelSet>(
                            durations.sum_seconds,
                            durations.count,
                            &durations.buckets,
                            None,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the OpenMetrics specification has this form: HELP, TYPE and UNIT name the
    /// family, `_total` is the sample's, label values are escaped.
    #[test]
    fn the_text_is_openmetrics() {
        let help = "What it counts";
        let sample = |name: &str, value| Sample::new([("interface", name)], value);
        let durations = Durations {
            labels: vec![("target", "a".to_owned())],
            sum_seconds: 1.5,
            count: 3,
            buckets: vec![(0.25, 2), (f64::INFINITY, 1)],
        };
        let spread = Family {
            name: "rtt",
            help: "How long it took",
            is_bytes: false,
            samples: Samples::Durations(vec![durations]),
        };
        let families = vec![
            Family::counters("packets", help, [sample("eth0", u64::MAX)]),
            Family::counters("kept", help, [sample("a\"b\\c\nd", 0), sample("größe", 1)])
                .of_bytes(),
            Family::counters("unknown", help, []),
            Family::gauges("waiting", help, [sample("eth0", 3)]),
            spread,
        ];
        let expected = "\
# HELP tapline_packets What it counts
# TYPE tapline_packets counter
tapline_packets_total{interface=\"eth0\"} 18446744073709551615
# HELP tapline_kept_bytes What it counts
# TYPE tapline_kept_bytes counter
# UNIT tapline_kept_bytes bytes
tapline_kept_bytes_total{interface=\"a\\\"b\\\\c\\nd\"} 0
tapline_kept_bytes_total{interface=\"größe\"} 1
# HELP tapline_unknown What it counts
# TYPE tapline_unknown counter
# HELP tapline_waiting What it counts
# TYPE tapline_waiting gauge
tapline_waiting{interface=\"eth0\"} 3
# HELP tapline_rtt_seconds How long it took
# TYPE tapline_rtt_seconds histogram
# UNIT tapline_rtt_seconds seconds
tapline_rtt_seconds_sum{target=\"a\"} 1.5
tapline_rtt_seconds_count{target=\"a\"} 3
tapline_rtt_seconds_bucket{le=\"0.25\",target=\"a\"} 2
tapline_rtt_seconds_bucket{le=\"+Inf\",target=\"a\"} 3
# EOF
";
        assert_eq!(text(families).expect("text"), expected);
    }
}
