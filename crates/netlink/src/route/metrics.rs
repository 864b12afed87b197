use serde::{Deserialize, Serialize};

use super::{RouteFeatures, RouteLocks};
use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Lookup, Native, Shape, Table, Word, Words, attributes, push};

attributes! {
    /// What TCP and IP assume of the way to a destination (`RTA_METRICS`).
    ///
    /// # Source
    /// `ip_metrics_convert`, net/ipv4/metrics.c.
    pub struct Metrics {
        /// Which of them the kernel may not change by itself.
        lock: RouteLocks = RTAX_LOCK;
        /// Bytes of the longest packet.
        "mtu" mtu: u32 = RTAX_MTU;
        /// Bytes of TCP's largest window.
        "window" window: u32 = RTAX_WINDOW;
        /// Initial round-trip time.
        "rtt" rtt: Milliseconds as Parts<8> = RTAX_RTT;
        /// Initial variance of that.
        "rttvar" rttvar: Milliseconds as Parts<4> = RTAX_RTTVAR;
        /// Initial slow-start threshold, in segments.
        "ssthresh" ssthresh: u32 = RTAX_SSTHRESH;
        /// Most segments in flight.
        "cwnd" cwnd: u32 = RTAX_CWND;
        /// Bytes of a segment, as told to the other end.
        "advmss" advmss: u32 = RTAX_ADVMSS;
        /// Segments that may be out of order before one is taken for lost.
        "reordering" reordering: u32 = RTAX_REORDERING;
        /// Hops a packet may take, for IPv6.
        "hoplimit" hoplimit: u32 = RTAX_HOPLIMIT;
        /// Segments in flight at first.
        "initcwnd" initcwnd: u32 = RTAX_INITCWND;
        /// Features of TCP.
        "features" features: RouteFeatures = RTAX_FEATURES;
        /// Least time before a segment is sent again.
        "rto_min" rto_min: Milliseconds as Parts<1> = RTAX_RTO_MIN;
        /// Segments of the first window that is told to the other end.
        "initrwnd" initrwnd: u32 = RTAX_INITRWND;
        /// 1 when segments are acknowledged at once.
        "quickack" quickack: u32 = RTAX_QUICKACK;
        /// Congestion control.
        "congctl" congestion: String = RTAX_CC_ALGO;
        /// 1 when TCP fast open needs no cookie.
        "fastopen_no_cookie" fastopen_no_cookie: u32 = RTAX_FASTOPEN_NO_COOKIE;
    }
}

/// A time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Milliseconds(pub u32);

/// A time, as a number of parts of a millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Parts<const N: u32>;

impl<const N: u32> Code<Milliseconds> for Parts<N> {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &Milliseconds, kind: u16, request: &mut Request) {
        request.u32(kind, value.0.saturating_mul(N));
    }

    fn take(attribute: Attribute<'_>) -> Result<Milliseconds, Malformed> {
        Ok(Milliseconds(attribute.u32()? / N))
    }

    crate::table::whole!(Milliseconds);
}

impl Word for Milliseconds {
    /// A number of milliseconds, or one with `ms` or `s` behind it.
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        if let Some(seconds) = text.strip_suffix('s').filter(|text| !text.ends_with('m')) {
            return seconds.parse::<u32>().ok()?.checked_mul(1000).map(Self);
        }
        let number = text.strip_suffix("ms").unwrap_or(text);
        number.parse().ok().map(Self)
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        format!("{}ms", self.0)
    }
}

macro_rules! bits_code {
    ($($type:ident),*) => {$(
        impl Code<$type> for Native {
            const SHAPE: Shape = Shape::Number;

            fn put(value: &$type, kind: u16, request: &mut Request) {
                request.u32(kind, value.0);
            }

            fn take(attribute: Attribute<'_>) -> Result<$type, Malformed> {
                attribute.u32().map($type)
            }

            crate::table::whole!($type);
        }
    )*};
}
bits_code!(RouteFeatures, RouteLocks);

impl Word for RouteFeatures {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        Self::named(text)
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.names().collect::<Vec<_>>().join(" ")
    }
}

impl Metrics {
    /// Whether nothing is given.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As [`Table::word`], with `lock` before the value.
    pub(super) fn read_word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        let is_locked = words.peek() == Some("lock");
        if is_locked {
            words.next();
        }
        // One that is given stays, for ip(8) locks it without being told.
        let locked = RouteLocks::named(word).filter(|_| is_locked || word == "rto_min");
        if let Some(RouteLocks(bit)) = locked {
            self.lock = Some(RouteLocks(self.lock.unwrap_or_default().0 | bit));
        }
        self.word(word, words)
    }

    /// As `ip(8)` shows them.
    pub(super) fn line(&self, lookup: &mut dyn Lookup) -> String {
        let mut line = String::new();
        let lock = self.lock.unwrap_or_default().0;
        self.show(lookup, &mut |word, value| {
            let locked = RouteLocks::named(word).is_some_and(|RouteLocks(bit)| lock & bit != 0);
            push(
                &mut line,
                format_args!(" {word} {}{value}", if locked { "lock " } else { "" }),
            );
        });
        line
    }
}

/// JSON has the metrics of a route in a list of one.
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
