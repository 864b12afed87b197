//! Counters by name and labels, and their text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
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
    pub samples: Vec<Sample>,
}

/// One counter. What is unknown is none: a sample is not there rather than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub labels: Vec<(&'static str, String)>,
    pub value: u64,
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
            let unit = family.is_bytes.then_some(Unit::Bytes);
            let mut encoder = encoder.encode_descriptor(
                family.name,
                family.help,
                unit.as_ref(),
                MetricType::Counter,
            )?;
            for sample in &family.samples {
                let encoder = encoder.encode_family(&sample.labels)?;
                ConstCounter::new(sample.value).encode(encoder)?;
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
        let sample = |name: &str, value| Sample {
            labels: vec![("interface", name.to_owned())],
            value,
        };
        let family = |name, is_bytes, samples| Family {
            name,
            help: "What it counts",
            is_bytes,
            samples,
        };
        let families = vec![
            family("packets", false, vec![sample("eth0", u64::MAX)]),
            family(
                "kept",
                true,
                vec![sample("a\"b\\c\nd", 0), sample("größe", 1)],
            ),
            family("unknown", false, vec![]),
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
# EOF
";
        assert_eq!(text(families).expect("text"), expected);
    }
}
