//! Flags that say what a capture does to the packets it sees.

use std::num::NonZeroU16;

use clap::Args;
use tapline::capture::{Mode, Others, XdpPlace};

/// Whether the packets stay in the stack's sight.
#[derive(Args, Clone, Copy, Debug)]
pub struct ModeArgs {
    /// mirror: the stack sees the packets too. drop: packets that come in are taken from the driver,
    /// before the stack sees them
    #[arg(long, value_name = "mirror|drop", default_value = "mirror", value_parser = mode)]
    pub mode: Mode,

    /// With --mode drop: what becomes of packets that the filter refuses [default: pass]
    #[arg(long, value_name = "pass|drop", value_parser = others)]
    pub others: Option<Others>,

    /// With --mode drop and --backend xdp-ringbuf: where packets are taken or copied, in the driver, in
    /// the stack's first step (with any driver), or in the first of them that works [default: auto]
    ///
    /// In the stack a super-packet, which the kernel joined from several of the wire (GRO) or has yet to
    /// split (GSO), comes and counts as one packet.
    #[arg(long, value_name = "native|generic|auto", value_parser = place)]
    pub xdp: Option<XdpPlace>,

    /// With --mode drop: take packets by AF_XDP and have the reader run the driver, BUDGET packets in one go
    /// at most, instead of interrupts; it spins for a millisecond, or for --spin, before it sleeps
    /// [default: off, without BUDGET 64]
    #[arg(long, value_name = "BUDGET", num_args = 0..=1, require_equals = true, default_missing_value = "64")]
    pub busy_poll: Option<NonZeroU16>,
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "mirror" => Ok(Mode::Mirror),
        "drop" => Ok(Mode::Drop),
        _ => Err("use mirror or drop".into()),
    }
}

fn others(text: &str) -> Result<Others, String> {
    match text {
        "pass" => Ok(Others::Pass),
        "drop" => Ok(Others::Drop),
        _ => Err("use pass or drop".into()),
    }
}

fn place(text: &str) -> Result<XdpPlace, String> {
    match text {
        "native" => Ok(XdpPlace::Native),
        "generic" => Ok(XdpPlace::Generic),
        "auto" => Ok(XdpPlace::NativeOrGeneric),
        _ => Err("use native, generic or auto".into()),
    }
}
