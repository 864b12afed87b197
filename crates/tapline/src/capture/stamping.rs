//! The source of an interface's time stamps, chosen before its rings are opened.

use std::path::PathBuf;
use std::sync::Arc;

use bpf::{RxMetadata, XdpAttachMode};
use netlink::{HashFunction, IfIndex, NetDevices};
use ring::{DeviceClock, TimestampSource};

use super::error::CaptureError;
use super::plan::backend::Backend;
use super::plan::mode::Mode;
use super::plan::options::CaptureOptions;
use crate::hwtstamp::{HwTimestampGuard, StampDevice, StampError};

/// The source of an interface's time stamps.
#[derive(Debug)]
pub struct Stamping {
    pub source: TimestampSource,
    /// Number of the clock behind hardware time stamps.
    pub clock: Option<u32>,
    /// What XDP programs ask the device.
    pub rx_metadata: Option<RxMetadata>,
    /// Why it is not the hardware, if that was tried first.
    pub refusal: Option<Arc<StampError>>,
    /// Makes the interface stamp packets. Restores its setting when it is dropped.
    guard: Option<HwTimestampGuard>,
}

impl Stamping {
    /// The source that `options` select for interface `link`, or the one that they fall back to.
    pub fn choose(link: &str, options: &CaptureOptions) -> Result<Self, CaptureError> {
        let software = |source| Self {
            source,
            clock: None,
            rx_metadata: None,
            refusal: None,
            guard: None,
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
        let rings = options.backend == Some(Backend::XdpRingbuf);
        if rings && options.mode == Mode::Drop {
            let link = link.to_owned();
            return Err(StampError::Xdp { link });
        }
        let mut device = StampDevice::open(link)?;
        let rx_metadata = if rings || options.mode == Mode::Drop {
            Some(Self::rx_metadata(&mut device, options)?)
        } else {
            None
        };
        let known = device.capabilities()?.filter(|_| !options.device_time);
        let clock = known.and_then(|known| known.clock);
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
            rx_metadata,
            refusal: None,
            guard: Some(HwTimestampGuard::begin(device)?),
        })
    }

    /// The same source, for another reader of the interface, which restores nothing.
    pub fn of_other_reader(&self) -> Self {
        Self {
            source: self.source,
            clock: self.clock,
            rx_metadata: self.rx_metadata,
            refusal: self.refusal.clone(),
            guard: None,
        }
    }

    /// What the driver lets XDP programs ask. Whether a program can be loaded does not tell: drivers load it and answer
    /// nothing.
    fn rx_metadata(
        device: &mut StampDevice,
        options: &CaptureOptions,
    ) -> Result<RxMetadata, StampError> {
        let link = device.name();
        let refused = || StampError::Xdp { link: link.clone() };
        if options.xdp == XdpAttachMode::Generic {
            return Err(refused());
        }
        // Kernels without this family have no metadata for XDP programs.
        let mut devices = NetDevices::open().map_err(|_| refused())?;
        let offered = devices.xdp(IfIndex(device.index()))?;
        if !offered.tells_time() {
            return Err(refused());
        }
        Ok(RxMetadata {
            ifindex: device.index(),
            timestamp: true,
            hash: offered.tells_hash() && device.hash_function()? == Some(HashFunction::Toeplitz),
            vlan: offered.tells_vlan(),
        })
    }

    /// Whether the time stamps are of the hardware and no clock is known that converts them to the time of day.
    pub fn is_unconverted(&self) -> bool {
        self.source == TimestampSource::Hardware && self.clock.is_none()
    }

    /// Whether the interface's setting will be restored, which takes `CAP_NET_ADMIN`.
    pub fn restores(&self) -> bool {
        self.guard.as_ref().is_some_and(HwTimestampGuard::restores)
    }
}
