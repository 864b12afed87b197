//! The XDP back end: programs send the requests and count the replies, which never reach a socket.

mod counts;
mod driver_stamps;
mod far_end;
mod foreign;
mod rate;
mod reply_hook;
mod round_trip_parts;
mod round_trips;
mod stamp_calibration;
mod sweep;

pub use far_end::attach_pass;

use crate::harness::{BenchOptions, Report};
use crate::rig::Rig;
use crate::tool::Tool;

/// Measures tapline (`tools[0]`) beside the others.
pub fn measure(rig: &Rig, tools: &[Tool], options: &BenchOptions, report: &mut Report) {
    rate::measure(rig, tools, report);
    round_trips::measure(rig, &tools[0], report);
    round_trip_parts::measure(rig, &tools[0], report);
    stamp_calibration::measure(rig, &tools[0], report);
    foreign::measure(rig, &tools[0], report);
    sweep::measure(rig, tools, report);
    counts::measure(rig, &tools[0], !options.quick, report);
}

/// The fastest run of the XDP back end with these arguments, for `Tool::start`.
fn command(rig: &Rig, arguments: &str) -> String {
    let link = rig.interface();
    format!("ping --backend xdp --json -q -s 16 -I {link} {arguments}")
}
