//! Metrics of routes.

use serde::{Deserialize, Serialize};

use super::{RouteFeatures, RouteLocks};
use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    Arguments, AttributeCodec, AttributeType, Flatten, InvalidValue, NameLookup, Native, Parsed,
    TextValue, attribute_set, c_number, field_values, fixed_size, push,
};

attribute_set! {
    /// Metrics of the path to a destination, for TCP and IP (`RTA_METRICS`).
    ///
    /// # Source
    /// `ip_metrics_convert`, net/ipv4/metrics.c.
    pub struct Metrics {
        /// The locked metrics, which the kernel must not change.
        lock: RouteLocks = RTAX_LOCK;
        /// Path MTU in bytes.
        "mtu" mtu: u32 = RTAX_MTU;
        /// Maximum TCP window in bytes.
        "window" window: u32 = RTAX_WINDOW;
        /// Initial round-trip time.
        "rtt" rtt: Milliseconds as Parts<8> = RTAX_RTT, 1000 per second;
        /// Initial round-trip time variance.
        "rttvar" rttvar: Milliseconds as Parts<4> = RTAX_RTTVAR, 1000 per second;
        /// Initial slow-start threshold, in segments.
        "ssthresh" ssthresh: u32 = RTAX_SSTHRESH;
        /// Maximum congestion window in segments.
        "cwnd" cwnd: u32 = RTAX_CWND;
        /// Advertised maximum segment size in bytes.
        "advmss" advmss: u32 = RTAX_ADVMSS;
        /// Maximum reordering in segments.
        "reordering" reordering: u32 = RTAX_REORDERING;
        /// Hop limit; IPv6.
        "hoplimit" hoplimit: u32 = RTAX_HOPLIMIT;
        /// Initial congestion window in segments.
        "initcwnd" initcwnd: u32 = RTAX_INITCWND;
        /// TCP features.
        "features" features: RouteFeatures = RTAX_FEATURES;
        /// Minimum retransmission timeout.
        "rto_min" rto_min: Milliseconds as Parts<1> = RTAX_RTO_MIN, 1000 per second;
        /// Initial advertised receive window in segments.
        "initrwnd" initrwnd: u32 = RTAX_INITRWND;
        /// Quick acknowledgements: 1 is on.
        "quickack" quickack: u32 = RTAX_QUICKACK;
        /// Congestion control algorithm.
        "congctl" congestion: String = RTAX_CC_ALGO;
        /// TCP fast open without a cookie: 1 is on.
        "fastopen_no_cookie" fastopen_no_cookie: u32 = RTAX_FASTOPEN_NO_COOKIE;
    }
}

/// A time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Milliseconds(pub u32);

field_values! {
    Milliseconds: Unsigned(4), |it| it.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

/// A time in units of 1/N millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Parts<const N: u32>;

impl<const N: u32> AttributeCodec<Milliseconds> for Parts<N> {
    const TYPE: AttributeType = AttributeType::Number;

    fn encode(value: &Milliseconds, kind: u16, request: &mut Request) {
        request.u32(kind, value.0.saturating_mul(N));
    }

    fn decode(attribute: Attribute<'_>) -> Result<Milliseconds, Malformed> {
        Ok(Milliseconds(attribute.u32()? / N))
    }
}

/// Letters with which the unit of a time begins.
const UNITS: [char; 4] = ['m', 's', 'M', 'S'];

impl TextValue for Milliseconds {
    /// A number of milliseconds, or a number with the unit `ms`, `msec`, `msecs`, `s`, `sec` or `secs`, in upper or lower case.
    /// A part of a millisecond counts as a whole one.
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        let (number, unit) = text.split_at(text.find(UNITS).unwrap_or(text.len()));
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "ms" | "msec" | "msecs" => 1,
            "s" | "sec" | "secs" => 1000,
            _ => return None,
        };
        if !number.contains('.') {
            return c_number::<u32>(number)?.checked_mul(factor).map(Self);
        }
        // Signs and exponents would be accepted here.
        if number.contains(['+', '-', 'e', 'E']) {
            return None;
        }
        let time = (number.parse::<f64>().ok()? * f64::from(factor)).ceil();
        #[expect(clippy::cast_sign_loss, reason = "the range is checked")]
        (0.0..=f64::from(u32::MAX))
            .contains(&time)
            .then_some(Self(time as u32))
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        format!("{}ms", self.0)
    }
}

fixed_size! {
    Native: RouteFeatures = Number, |bits| bits.0.to_ne_bytes(), |bytes| RouteFeatures(u32::from_ne_bytes(bytes));
    Native: RouteLocks = Number, |bits| bits.0.to_ne_bytes(), |bytes| RouteLocks(u32::from_ne_bytes(bytes));
}

impl TextValue for RouteFeatures {
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        Self::named(text)
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.names().collect::<Vec<_>>().join(" ")
    }
}

impl Metrics {
    /// Whether no metric is given.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As [`Flatten::parse_keyword`], with an optional `lock` before the value.
    pub(super) fn read_word(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        let is_locked = words.peek() == Some("lock");
        if is_locked {
            words.next();
        }
        // Without a unit, `ip(8)` means eighths of a millisecond for `rtt` and quarters for `rttvar`.
        if matches!(word, "rtt" | "rttvar")
            && let Some(time) = words.peek().filter(|time| !time.contains(UNITS))
        {
            let expected = "a time with its unit, such as 10ms";
            return Err(InvalidValue::new(expected, Some(time)));
        }
        // `ip(8)` always locks `rto_min`.
        let locked = RouteLocks::named(word).filter(|_| is_locked || word == "rto_min");
        if let Some(RouteLocks(bit)) = locked {
            self.lock = Some(RouteLocks(self.lock.unwrap_or_default().0 | bit));
        }
        self.parse_keyword(word, words)
    }

    /// Formats them like `ip(8)`.
    pub(super) fn line(&self, lookup: &mut dyn NameLookup) -> String {
        let mut line = String::new();
        let lock = self.lock.unwrap_or_default().0;
        self.format_fields(lookup, &mut |word, value| {
            let locked = RouteLocks::named(word).is_some_and(|RouteLocks(bit)| lock & bit != 0);
            push(
                &mut line,
                format_args!(" {word} {}{value}", if locked { "lock " } else { "" }),
            );
        });
        line
    }
}

/// The JSON form: a list with one element.
pub(super) mod in_a_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Metrics;

    #[expect(clippy::ref_option, reason = "serde hands it over so")]
    pub fn serialize<S: Serializer>(
        metrics: &Option<Box<Metrics>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        metrics.as_slice().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<Metrics>>, D::Error> {
        Ok(Vec::<Box<Metrics>>::deserialize(deserializer)?.pop())
    }
}
