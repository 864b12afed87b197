//! Packet sockets: TPACKET_V2 and V3 rings behind a socket filter.

pub mod blocks;
mod filter;
mod hand_over;
mod successor;

use std::io;
use std::time::Duration;

use ::filter::classic::ClassicProgram;
use ring::{
    Batch, BlockLayout, DeviceClockState, InterfaceInfo, PacketRing, RingCounters, RingOpenError,
    RingSetupError, SetupStep,
};
use rustix::io::Errno;

use self::hand_over::PacketHandOver;
use self::successor::ring_options;
use super::super::account::kernel_filter::{AcceptAll, KernelFilter};
use super::super::error::CaptureError;
use super::super::plan::backend::{Backend, FilterPlace};
use super::super::plan::interface_plan::InterfacePlan;
use super::super::plan::options::CaptureOptions;
use super::super::read::exact_filter::ExactFilter;
use super::super::read::forecast::parts;
use super::super::read::ring::{RingReader, RxRing};
use super::OpenedInterface;

pub use self::filter::prepare;
pub(crate) use self::filter::sock_filter;

/// Opens a packet ring with the filter of `plan`.
pub fn open(
    link: &str,
    plan: InterfacePlan,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    match plan {
        // Only a program samples, knows ports, and has another direction than the ring.
        InterfacePlan::Everything
            if options.sampling.is_some()
                || options.socket_ports.is_some()
                || options.narrows_direction() =>
        {
            let everything = ClassicProgram::keep(options.snaplen);
            Ok(OpenedInterface {
                place: None,
                ..with_program(link, &everything, options)?
            })
        }
        InterfacePlan::Everything => with_filter(
            link,
            ring::RingFilter::All,
            Box::new(AcceptAll),
            None,
            options,
        ),
        InterfacePlan::Program(program) => with_program(link, &program, options),
        InterfacePlan::Filter(link_type, filter) => {
            let opened = with_expression(link, *filter, options)?;
            if opened.rings[0].ring().link().link_type != link_type {
                let link = link.to_owned();
                return Err(CaptureError::LinkReplaced { link });
            }
            Ok(opened)
        }
    }
}

fn with_program(
    link: &str,
    program: &ClassicProgram,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    let (filter, kernel_filter) = filter::prepare(link, program, options)?;
    let place = Some(FilterPlace::Kernel);
    with_filter(link, filter, kernel_filter, place, options)
}

/// Runs the filter in the kernel, or a coarse one there and the exact one in the reader. The kernel limits
/// the instructions of a classic program, and the memory of a socket's options (`net.core.optmem_max`).
fn with_expression(
    link: &str,
    filter: ::filter::Filter,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    if let Ok(program) = filter.classic() {
        match with_program(link, &program, options) {
            Err(CaptureError::Ring(RingOpenError::Setup(error))) if is_too_large(&error) => {}
            opened => return opened,
        }
    }
    if options.sampling.is_some() {
        let link = link.to_owned();
        return Err(CaptureError::SamplingSplit { link });
    }
    let whole = options
        .clone()
        .snaplen(ring::DEFAULT_SNAPLEN.max(options.snaplen));
    let opened = with_program(link, &filter.coarse(), &whole)?;
    Ok(OpenedInterface {
        exact: Some(ExactFilter::new(filter, options.snaplen)),
        place: Some(FilterPlace::Split),
        ..opened
    })
}

fn with_filter(
    link: &str,
    filter: ring::RingFilter,
    kernel_filter: Box<dyn KernelFilter>,
    place: Option<FilterPlace>,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    let ring = ring_options(options, filter);
    let (ring, hand_over) = PacketHandOver::open(link, ring, options)?;
    Ok(OpenedInterface {
        rings: vec![RingReader::Packet(Box::new(ring))],
        kernel_filter,
        exact: None,
        place,
        fall_back: None,
        hand_over,
    })
}

/// `sk_filter_charge`, net/core/filter.c, answers ENOMEM.
fn is_too_large(error: &RingSetupError) -> bool {
    error.step == SetupStep::Filter && Errno::from_io_error(&error.source) == Some(Errno::NOMEM)
}

impl RxRing for PacketRing {
    fn next_batch(&mut self) -> Option<Batch<'_>> {
        self.next_batch()
    }

    fn holds(&self, bytes: usize) -> bool {
        self.holds(bytes)
    }

    fn is_filling(&self) -> bool {
        self.is_filling()
    }

    fn waiting_parts(&self) -> u64 {
        let (waiting, slots) = self.waiting_slots();
        parts(waiting, slots)
    }

    fn counters(&self) -> &RingCounters {
        self.counters()
    }

    fn refresh(&mut self) {
        // The counters of a socket can always be read.
        let _ = self.refresh();
    }

    fn link(&self) -> &InterfaceInfo {
        self.interface()
    }

    fn backend(&self) -> Backend {
        self.version().into()
    }

    fn buffer_bytes(&self) -> usize {
        self.buffer_bytes()
    }

    fn stop(&self) {
        // Fails only for lack of memory for one instruction. Packets keep arriving then, and the end of the
        // capture has a deadline.
        let _ = self.stop();
    }

    fn finish(&self) -> bool {
        // If it fails, the kernel's timer hands them over.
        self.counters().waiting() > 0 && PacketRing::finish(self).unwrap_or(false)
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(!self.holds(1) && PacketRing::is_at_end(self)?)
    }

    fn take_error(&self) -> io::Result<()> {
        self.take_error()
    }

    fn wakes_early(&self) -> bool {
        self.version() == ring::TpacketVersion::V2
    }

    fn block_time(&self) -> Option<Duration> {
        self.block_time()
    }

    fn blocks(&self) -> Option<BlockLayout> {
        self.blocks()
    }

    fn device_clock(&self) -> Option<DeviceClockState> {
        self.device_clock()
    }

    fn oldest_age_ns(&self, now_ns: u64) -> Option<u64> {
        Some(now_ns.saturating_sub(self.oldest_ns()?))
    }
}
