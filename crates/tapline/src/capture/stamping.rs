//! The source of an interface's time stamps, chosen before its rings are opened.

use std::path::PathBuf;
use std::sync::Arc;

use ring::{DeviceClock, TimestampSource};

use super::error::CaptureError;
use super::plan::backend::Backend;
use super::plan::mode::Mode;
use super::plan::options::CaptureOptions;
use crate::hwtstamp::{StampDevice, StampError, StampLease};

/// The source of an interface's time stamps.
#[derive(Debug)]
pub struct Stamping {
    pub source: TimestampSource,
    /// Number of the clock behind hardware time stamps.
    pub clock: Option<u32>,
    /// Why it is not the hardware, if that was tried first.
    pub refusal: Option<Arc<StampError>>,
    /// Makes the interface stamp packets. Restores its setting when it is dropped.
    lease: Option<StampLease>,
}

impl Stamping {
    /// The source that `options` select for interface `link`, or the one that they fall back to.
    pub fn choose(link: &str, options: &CaptureOptions) -> Result<Self, CaptureError> {
        let software = |source| Self {
            source,
            clock: None,
            refusal: None,
            lease: None,
        };
        if options.timestamps != TimestampSource::Hardware {
            return Ok(software(options.timestamps));
        }
        match Self::hardware(link, options) {
            Ok(stamping) => Ok(stamping),
            Err(StampError::Link(error)) => Err(CaptureError::Link(error)),
            Err(refusal) if options.timestamp_fallback => Ok(Self {
                refusal: Some(Arc::new(refusal)),
                ..software(TimestampSource::Kernel)
            }),
            Err(refusal) => Err(CaptureError::HardwareTimestamps(Box::new(refusal))),
        }
    }

    fn hardware(link: &str, options: &CaptureOptions) -> Result<Self, StampError> {
        if options.mode == Mode::Drop || options.backend == Some(Backend::XdpRingbuf) {
            let link = link.to_owned();
            return Err(StampError::Xdp { link });
        }
        let mut device = StampDevice::open(link)?;
        let clock = device.capabilities()?.and_then(|known| known.clock);
        if let Some(number) = clock {
            // Refused here, the interface is not changed for nothing.
            DeviceClock::open(number).map_err(|source| StampError::Clock {
                link: link.to_owned(),
                path: PathBuf::from(format!("/dev/ptp{number}")),
                source,
            })?;
        }
        Ok(Self {
            source: TimestampSource::Hardware,
            clock,
            refusal: None,
            lease: Some(StampLease::begin(device)?),
        })
    }

    /// The same source, for another reader of the interface, which restores nothing.
    pub fn of_other_reader(&self) -> Self {
        Self {
            source: self.source,
            clock: self.clock,
            refusal: self.refusal.clone(),
            lease: None,
        }
    }

    /// Whether the interface's setting will be restored, which takes `CAP_NET_ADMIN`.
    pub fn restores(&self) -> bool {
        self.lease.as_ref().is_some_and(StampLease::restores)
    }
}
