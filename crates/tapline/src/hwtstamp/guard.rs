//! Hardware time stamps of an interface, restored on drop.

use super::device::StampDevice;
use super::error::StampError;
use super::saved_setting::SavedSetting;
use super::setting::HardwareStamping;

/// Keeps an interface stamping every received packet. The last one of an interface that is dropped restores the former
/// setting, unless somebody else has changed it since.
#[derive(Debug)]
pub struct HwTimestampGuard {
    device: StampDevice,
    /// `None` if the interface stamps all packets anyway: nothing is to be restored.
    record: Option<SavedSetting>,
}

impl HwTimestampGuard {
    /// Makes the interface stamp every received packet, and whatever sent packets it stamps already.
    ///
    /// # Errors
    /// [`StampError`]; nothing has changed then.
    pub fn begin(mut device: StampDevice) -> Result<Self, StampError> {
        refuse_partial(&mut device)?;
        let record = SavedSetting::begin(&mut device, HardwareStamping::stamping_all_received)?;
        Ok(Self { device, record })
    }

    /// Whether the setting will be restored, which takes `CAP_NET_ADMIN`.
    pub fn restores(&self) -> bool {
        self.record.is_some()
    }
}

impl Drop for HwTimestampGuard {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            // A record that cannot be carried out stays for the next capture or 'doctor --undo'.
            let _ = record.end(&mut self.device);
        }
    }
}

/// Refuses a driver that says that it cannot stamp every received packet.
fn refuse_partial(device: &mut StampDevice) -> Result<(), StampError> {
    let Some(known) = device.capabilities()? else {
        return Ok(());
    };
    let link = device.name();
    let can_receive = known
        .capabilities
        .iter()
        .any(|one| one == "hardware-receive");
    if !can_receive {
        return Err(StampError::Unsupported { link });
    }
    if known.receive_filters.iter().any(|one| one == "all") {
        return Ok(());
    }
    let filters = known.receive_filters.join(", ");
    Err(StampError::Partial { link, filters })
}
