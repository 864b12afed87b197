//! The way of packets before the kernel's stamp.

use std::io::{self, Write};

use serde_json::{Value, json};
use tapline::capture::Expression;
use tapline::latency::{DeviceDelays, DeviceError, DeviceMeter};

use super::report::{delays_json, extend, percentiles, time};

/// Measures it where it can be measured.
pub struct Device(Result<DeviceMeter, DeviceError>);

/// What was measured, or why nothing was.
pub struct Measured(Result<DeviceDelays, DeviceError>);

impl Device {
    pub fn begin(link: &str, filter: Option<&Expression>) -> Self {
        Self(DeviceMeter::begin(link, filter))
    }

    pub fn finish(self) -> Measured {
        Measured(self.0.map(DeviceMeter::finish))
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
