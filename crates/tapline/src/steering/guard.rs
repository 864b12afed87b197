//! Settings of a device, restored on drop.

use super::device::SteeringDevice;
use super::error::SteeringError;
use super::saved_setting::SavedSetting;
use super::setting::Setting;

/// Keeps settings of a device. The last one that keeps a setting restores it when it is dropped, unless somebody else has
/// changed it since.
#[derive(Debug)]
pub struct DeviceSettingsGuard {
    device: SteeringDevice,
    records: Vec<SavedSetting>,
}

impl DeviceSettingsGuard {
    /// Makes `settings` on interface `link`, in the order of their kinds.
    ///
    /// # Errors
    /// [`SteeringError`]; those that were made are restored then.
    pub fn begin(link: &str, settings: &[Setting]) -> Result<Self, SteeringError> {
        let mut ordered: Vec<_> = settings.iter().collect();
        ordered.sort_by_key(|setting| setting.rank());
        let mut guard = Self {
            device: SteeringDevice::open(link)?,
            records: Vec::new(),
        };
        for setting in ordered {
            let record = SavedSetting::begin(&mut guard.device, setting)?;
            guard.records.extend(record);
        }
        Ok(guard)
    }

    /// The same, unless there are none.
    pub fn of_options(link: &str, settings: &[Setting]) -> Result<Option<Self>, SteeringError> {
        if settings.is_empty() {
            return Ok(None);
        }
        Self::begin(link, settings).map(Some)
    }

    /// Whether a setting will be restored, which takes `CAP_NET_ADMIN`.
    pub fn restores(&self) -> bool {
        !self.records.is_empty()
    }
}

impl Drop for DeviceSettingsGuard {
    fn drop(&mut self) {
        // The last first: it may depend on the others.
        for record in self.records.drain(..).rev() {
            // A record that cannot be carried out stays for the next capture or 'doctor --undo'.
            let _ = record.end(&mut self.device);
        }
    }
}
