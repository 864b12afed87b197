//! Flags of mirror mode and drop mode.

use std::num::NonZeroU16;

use clap::Args;
use tapline::capture::{Mode, UnmatchedAction, XdpAttachMode};

/// Whether the stack still sees captured packets.
#[derive(Args, Clone, Copy, Debug)]
pub struct ModeArgs {
    /// Copy packets, or take them from the stack (drop)
    ///
    /// With mirror the stack sees captured packets too. With drop, an XDP program takes received packets from the driver, before the stack sees them.
    #[arg(long, value_name = "mirror|drop", default_value = "mirror", value_parser = mode, help_heading = "Input")]
    pub mode: Mode,

    /// With --mode drop: action for packets that do not match the filter [default: pass]
    #[arg(hide_short_help = true, long, value_name = "pass|drop", value_parser = others, help_heading = "Filtering")]
    pub others: Option<UnmatchedAction>,

    /// Where the XDP program of --mode drop and --backend xdp-ringbuf runs: in the driver (native), in the
    /// stack (generic, any driver), or native if possible, otherwise generic (auto) [default: auto]
    ///
    /// In the stack a super-packet, joined by the kernel from several packets (GRO) or not yet split (GSO),
    /// arrives and counts as one packet.
    #[arg(hide_short_help = true, long, value_name = "native|generic|auto", value_parser = place, help_heading = "Performance")]
    pub xdp: Option<XdpAttachMode>,

    /// With --mode drop: use AF_XDP and busy-poll the driver from the reader instead of interrupts, at most
    /// BUDGET packets per round; the reader spins for a millisecond, or for --spin, before it sleeps
    /// [default: off, without BUDGET 64]
    #[arg(hide_short_help = true, long, value_name = "BUDGET", num_args = 0..=1, require_equals = true, default_missing_value = "64", help_heading = "Performance")]
    pub busy_poll: Option<NonZeroU16>,
}

pub fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "mirror" => Ok(Mode::Mirror),
        "drop" => Ok(Mode::Drop),
        _ => Err("use mirror or drop".into()),
    }
}

fn others(text: &str) -> Result<UnmatchedAction, String> {
    match text {
        "pass" => Ok(UnmatchedAction::Pass),
        "drop" => Ok(UnmatchedAction::Drop),
        _ => Err("use pass or drop".into()),
    }
}

pub(super) fn place(text: &str) -> Result<XdpAttachMode, String> {
    match text {
        "native" => Ok(XdpAttachMode::Native),
        "generic" => Ok(XdpAttachMode::Generic),
        "auto" => Ok(XdpAttachMode::NativeOrGeneric),
        _ => Err("use native, generic or auto".into()),
    }
}
