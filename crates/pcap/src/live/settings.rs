//! What a program asks of an interface before it is opened, and why that may be refused.

use std::ffi::{CStr, CString, c_int};
use std::time::Duration;

use crate::ffi::text::status_text;

/// The pseudo interface of all interfaces.
pub const ANY: &CStr = c"any";

/// What `pcap_activate` opens.
pub struct Settings {
    /// Name of the interface, or `any`.
    pub device: CString,
    /// `pcap_set_promisc`.
    pub is_promiscuous: bool,
    /// `pcap_set_timeout`, milliseconds.
    pub timeout_ms: c_int,
    /// `pcap_set_buffer_size`, bytes; 0: default.
    pub buffer_bytes: c_int,
    /// `pcap_set_immediate_mode`.
    pub is_immediate: bool,
    /// `pcap_set_rfmon`.
    pub is_monitor: bool,
    /// `pcap_set_tstamp_type`.
    pub timestamp_type: c_int,
    /// `pcap_set_protocol_linux`; 0: all.
    pub protocol: c_int,
}

impl Settings {
    /// The defaults.
    pub fn new(device: &CStr) -> Self {
        Self {
            device: device.to_owned(),
            is_promiscuous: false,
            timeout_ms: 0,
            buffer_bytes: 0,
            is_immediate: false,
            is_monitor: false,
            timestamp_type: 0,
            protocol: 0,
        }
    }

    /// Longest wait of a call that returns without packets; `None`: no end.
    pub fn timeout(&self) -> Option<Duration> {
        let ms = u64::try_from(self.timeout_ms).ok();
        ms.filter(|&ms| ms > 0).map(Duration::from_millis)
    }
}

/// Why an interface cannot be opened.
pub struct Refusal {
    /// `PCAP_ERROR_…`.
    pub status: c_int,
    /// The text for `pcap_geterr`.
    pub message: String,
}

impl Refusal {
    /// A refusal of which the status says everything.
    pub fn of(status: c_int) -> Self {
        let text = status_text(status).unwrap_or_default();
        Self {
            status,
            message: text.to_string_lossy().into_owned(),
        }
    }
}
