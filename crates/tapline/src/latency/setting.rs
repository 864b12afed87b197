//! Delivery settings to compare.

use std::time::Duration;

use ring::DeliveryMode;

use crate::capture::{Backend, CaptureOptions, Mode};

/// Size of libpcap's default ring.
const LIBPCAP_BYTES: usize = 2 << 20;

/// libpcap's maximum frame length on interfaces with offloads.
const LIBPCAP_FRAME: u32 = 65_535;

/// Block size of libpcap's ring.
const LIBPCAP_BLOCK: usize = 256 << 10;

/// A delivery setting.
#[derive(Clone, Debug)]
pub struct DeliverySetting {
    /// Its name in a table.
    pub name: String,
    /// The options of its capture.
    pub options: CaptureOptions,
}

impl DeliverySetting {
    /// The settings of tapline and of programs with libpcap, for the interfaces, filter and snaplen of `options`:
    /// immediate delivery; adaptive with `target`; batches; TPACKET_V3 with a timer of 1 ms and of 8 ms, which is
    /// the kernel's default; and libpcap's rings, as tcpdump has them and in immediate mode.
    pub fn all(options: &CaptureOptions, target: Duration) -> Vec<Self> {
        let blocks = |bytes, ms| DeliveryMode::Blocks {
            bytes,
            timeout: Duration::from_millis(ms),
        };
        let small = 32 << 10;
        let rings = [
            ("immediate", None, DeliveryMode::Immediate),
            ("adaptive", None, DeliveryMode::Adaptive { target }),
            ("batch", None, DeliveryMode::default()),
            ("v3 1 ms", Some(Backend::PacketV3), blocks(small, 1)),
            ("v3 8 ms", Some(Backend::PacketV3), blocks(small, 8)),
            (
                "libpcap",
                Some(Backend::PacketV3),
                blocks(LIBPCAP_BLOCK, 100),
            ),
            (
                "libpcap immediate",
                Some(Backend::PacketV2),
                DeliveryMode::Immediate,
            ),
        ];
        let of = |(name, backend, delivery): (&str, Option<Backend>, DeliveryMode)| {
            let options = options.clone().mode(Mode::Mirror);
            let mut options = options.backend(backend).delivery(delivery);
            if name.starts_with("libpcap") {
                options.buffer_bytes = LIBPCAP_BYTES;
                options.stall = None;
            }
            if name == "libpcap immediate" {
                options.snaplen = LIBPCAP_FRAME;
            }
            Self {
                name: name.to_owned(),
                options,
            }
        };
        rings.into_iter().map(of).collect()
    }
}
