//! Lines on standard error. If standard error is closed, they are lost and the run continues.

use std::io;

use super::reporter::RunStart;
use crate::screen::{printable, say};

/// Prints a warning.
pub fn warn(line: &str) {
    say(&format!("tapline: {}", printable(line)));
}

/// Prints the URL of the metrics, if they are served.
pub fn metrics_url(start: &RunStart<'_>) {
    if let Some(url) = start.metrics {
        say(&format!("metrics at {url}"));
    }
}

/// Warns that a probe was not sent.
pub fn not_sent(name: &str, sequence: Option<u16>, error: &io::Error, is_in_kernel: bool) {
    let sequence = sequence.map_or_else(String::new, |number| format!("icmp_seq={number} "));
    warn(&format!(
        "{sequence}not sent to {name}: {}",
        reason(error, is_in_kernel)
    ));
}

/// The system's message without the number that Rust appends, with an explanation if it needs one. `is_in_kernel`: by the XDP
/// back end, which reports what it found out about the way.
///
/// # Source
/// EACCES: `raw_sendmsg` and `ip_output_key_hash`, net/ipv4: a broadcast without `SO_BROADCAST`, or a
/// route that prohibits. EPERM: netfilter, `nf_hook_slow`, net/netfilter/core.c.
pub fn reason(error: &io::Error, is_in_kernel: bool) -> String {
    let text = error.to_string();
    let end = text.find(" (os error ").unwrap_or(text.len());
    let meaning = match error.raw_os_error() {
        Some(libc::EACCES) => ": a broadcast address, or a route that prohibits",
        Some(libc::EADDRNOTAVAIL) => ": an address of this host, which XDP frames do not reach",
        Some(libc::EPERM) => ": by a firewall of this host",
        Some(libc::ENETUNREACH) if is_in_kernel => {
            ": no way to it by this interface ('ip route get' shows the way, -I selects an interface)"
        }
        Some(libc::EHOSTUNREACH) if is_in_kernel => {
            ": it or its gateway does not answer on the link ('ip neighbour' lists who does)"
        }
        Some(libc::EMSGSIZE) if is_in_kernel => ": the MTU of the interface has become too small",
        Some(libc::ENOBUFS) if is_in_kernel => {
            ": the interface or the kernel's table of neighbours is full"
        }
        _ => "",
    };
    format!("{}{meaning}", &text[..end])
}
