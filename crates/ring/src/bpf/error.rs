//! Why a BPF ring cannot be opened.

use std::io;

/// The step of the setup that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BpfRingSetupStep {
    /// Open a packet socket for the interface.
    Socket,
    /// Find the interface.
    Interface,
    /// Enable promiscuous mode.
    Promiscuous,
    /// Map the buffer.
    Map,
    /// Read the clock behind the device's time stamps.
    Clock,
}

/// Why a BPF ring cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BpfRingError {
    /// The snaplen is 0.
    #[error("the snaplen must be at least 1")]
    SnaplenZero,
    /// The kernel refused a step of the setup.
    #[error("{}", setup_text(*.step, .link, .source))]
    Setup {
        /// The step.
        step: BpfRingSetupStep,
        /// Name of the interface.
        link: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// No capture file link type is known for the interface's hardware type.
    #[error("cannot capture from {link}: its hardware type {hatype} is not supported")]
    LinkLayer {
        /// Name of the interface.
        link: String,
        /// Its hardware type (`ARPHRD_*`, `net/if_arp.h`).
        hatype: u16,
    },
}

fn setup_text(step: BpfRingSetupStep, link: &str, source: &io::Error) -> String {
    let what = match step {
        BpfRingSetupStep::Socket => "open a packet socket for",
        BpfRingSetupStep::Interface => "get link",
        BpfRingSetupStep::Promiscuous => "turn on promiscuous mode of",
        BpfRingSetupStep::Map => "map the ring buffer of",
        BpfRingSetupStep::Clock => "read the clock of",
    };
    let fix = match (step, source.raw_os_error()) {
        (BpfRingSetupStep::Socket, Some(libc::EPERM)) => {
            " (needs CAP_NET_RAW; run with sudo or setcap)"
        }
        (BpfRingSetupStep::Map, Some(libc::ENOMEM)) => " (try a smaller buffer)",
        _ => "",
    };
    format!("cannot {what} {link}{fix}")
}
