//! The way of packets before the kernel's stamp.

use std::io::{self, Write};

use serde_json::{Value, json};
use tapline::latency::{DeviceDelays, DeviceError, DeviceMeasurement, DeviceMeter};

use super::report::{delays_json, extend, percentiles, time};

/// Measures it where it can be measured.
pub struct Device(Result<DeviceMeasurement, DeviceError>);

/// What was measured, or why nothing was.
pub struct Measured(Result<DeviceDelays, DeviceError>);

impl Device {
    /// To be called without privileges, which the opened meter needs no more.
    pub fn begin(opened: Result<DeviceMeter, DeviceError>) -> Self {
        Self(opened.and_then(DeviceMeter::begin))
    }

    pub fn finish(self) -> Measured {
        Measured(self.0.map(DeviceMeasurement::finish))
    }
}

impl Measured {
    /// Why there is nothing to tell, if there is nothing.
    fn missing(&self) -> Option<String> {
        match &self.0 {
            Err(error) => Some(error.to_string()),
            Ok(measured) if measured.delays.histogram.count() > 0 => None,
            Ok(measured) if measured.delays.unstamped > 0 => {
                Some("the device is not set to stamp what it receives".into())
            }
            Ok(_) => Some("no packet came in".into()),
        }
    }

    pub fn show(&self) -> io::Result<()> {
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
                "NIC to kernel: no hardware stamps: {}",
                why.unwrap_or_default()
            ),
        }
    }

    /// Members of the summary.
    pub fn json(&self) -> Value {
        let mut told = Value::Null;
        if let (Ok(measured), None) = (&self.0, self.missing()) {
            told = delays_json(&measured.delays);
            let more = json!({
                "uncertainty_ns": measured.uncertainty_ns,
                "skipped": measured.skipped,
            });
            extend(&mut told, more);
        }
        json!({ "nic_to_kernel": told, "nic_to_kernel_missing": self.missing() })
    }
}
