//! Delay between the NIC's time stamp and the kernel's time stamp of a packet.

use std::io::{self, Write};

use serde_json::{Value, json};
use tapline::latency::{DeviceDelays, DeviceError, DeviceMeasurement, DeviceMeter};

use super::delays::{delays_json, extend, percentiles, time};

/// A running measurement, or why there is none.
pub struct RunningMeasurement(Result<DeviceMeasurement, DeviceError>);

/// The result, or why there is none.
pub struct MeasurementResult(Result<DeviceDelays, DeviceError>);

impl RunningMeasurement {
    /// Starts the thread, after privileges were dropped.
    pub fn start(opened: Result<DeviceMeter, DeviceError>) -> Self {
        Self(opened.and_then(DeviceMeter::begin))
    }

    pub fn finish(self) -> MeasurementResult {
        MeasurementResult(self.0.map(DeviceMeasurement::finish))
    }
}

impl MeasurementResult {
    /// Why nothing was measured.
    fn missing(&self) -> Option<String> {
        match &self.0 {
            Err(error) => Some(error.to_string()),
            Ok(measured) if measured.delays.histogram.count() > 0 => None,
            Ok(measured) if measured.delays.unstamped > 0 => {
                Some("hardware time stamping of received packets is off".into())
            }
            Ok(_) => Some("no packet was received".into()),
        }
    }

    pub fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match (&self.0, self.missing()) {
            (Ok(measured), None) => writeln!(
                out,
                "NIC to kernel, +-{}: {}",
                time(measured.uncertainty_ns),
                percentiles(&measured.delays)
            ),
            (_, why) => writeln!(
                out,
                "NIC to kernel: no hardware time stamps: {}",
                why.unwrap_or_default()
            ),
        }
    }

    /// The fields of the JSON summary.
    pub fn json(&self) -> Value {
        let mut delays = Value::Null;
        if let (Ok(measured), None) = (&self.0, self.missing()) {
            delays = delays_json(&measured.delays);
            let more = json!({
                "uncertainty_ns": measured.uncertainty_ns,
                "skipped": measured.skipped,
            });
            extend(&mut delays, more);
        }
        json!({ "nic_to_kernel": delays, "nic_to_kernel_missing": self.missing() })
    }
}
