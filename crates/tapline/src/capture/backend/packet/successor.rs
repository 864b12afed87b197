//! Options of a packet ring, and of one with another filter that takes over.

use ::filter::classic::ClassicProgram;
use netlink::Netlink;
use ring::DirectionFilter;

use super::super::super::control::error::ChangeError;
use super::super::super::control::hand_over::{NewFilter, RunOptions};
use super::super::super::error::CaptureError;
use super::super::super::plan::interface_plan::InterfacePlan;
use super::super::super::plan::options::CaptureOptions;
use super::super::super::read::exact_filter::ExactFilter;
use super::{blocks, filter};

/// The filter of a ring that takes over from another one.
pub struct ChosenFilter {
    pub ring: ring::RingFilter,
    pub filter: NewFilter,
    /// Options of the ring behind it.
    pub options: CaptureOptions,
}

/// The filter of `plan`. Its exact form, unless the language of the kernel lacks it: so a filter that is too
/// large for a socket is refused.
fn choose(
    link: &str,
    plan: InterfacePlan,
    options: &CaptureOptions,
) -> Result<ChosenFilter, CaptureError> {
    let mut options = options.clone();
    let mut exact = None;
    let program = match plan {
        InterfacePlan::Everything => ClassicProgram::keep(options.snaplen),
        InterfacePlan::Program(program) => program,
        InterfacePlan::Filter(_, filter) => match filter.classic() {
            Ok(program) => program,
            Err(_) if options.sampling.is_some() => {
                let link = link.to_owned();
                return Err(CaptureError::SamplingSplit { link });
            }
            Err(_) => {
                let coarse = filter.coarse();
                exact = Some(ExactFilter::new(*filter, options.snaplen));
                options.snaplen = ring::DEFAULT_SNAPLEN.max(options.snaplen);
                coarse
            }
        },
    };
    let (ring, kernel) = filter::prepare(link, &program, &options)?;
    Ok(ChosenFilter {
        ring,
        filter: NewFilter { kernel, exact },
        options,
    })
}

/// The filter of a ring of `capture` that has these options now.
pub fn choose_filter(
    link: &str,
    capture: &CaptureOptions,
    options: &RunOptions,
) -> Result<ChosenFilter, ChangeError> {
    let mut capture = capture.clone();
    options.clone().apply(&mut capture);
    let netlink = &mut Netlink::open().map_err(CaptureError::from)?;
    let widens = capture.narrowed == Some(DirectionFilter::Both);
    if widens
        && capture.direction == DirectionFilter::In
        && (netlink.link_named(link)).is_ok_and(|found| found.is_loopback())
    {
        // Of both directions a loopback interface has the received packets.
        capture.narrowed = None;
    }
    let fixed = || ChangeError::FixedDirection {
        link: link.to_owned(),
    };
    if capture.narrows_direction() && capture.direction != DirectionFilter::Both {
        return Err(fixed());
    }
    let plan = InterfacePlan::new(link, &capture, netlink);
    match choose(link, plan.map_err(CaptureError::from)?, &capture) {
        // The kernel runs no program.
        Err(CaptureError::Direction { .. }) => Err(fixed()),
        chosen => Ok(chosen?),
    }
}

/// The options of a ring behind `filter`.
pub fn ring_options(options: &CaptureOptions, filter: ring::RingFilter) -> ring::RingOptions {
    let mut ring = ring::RingOptions {
        promiscuous: options.promiscuous,
        direction: options.direction,
        snaplen: options.snaplen,
        buffer_bytes: options.buffer_bytes,
        stall: options.stall,
        timestamps: options.timestamps,
        device_clock: options.device_clock,
        filter,
        ..ring::RingOptions::default()
    };
    blocks::suit(&mut ring, options, options.delivery, options.spin);
    ring
}
