//! The back ends. Each folder owns its rings, its kernel filter, the filter's counters and its hand-over.
//!
//! | folder | rings | kernel filter |
//! |---|---|---|
//! | [`packet`] | a packet socket per interface | eBPF or classic socket filter |
//! | [`af_xdp`] | an AF_XDP socket per receive queue | XDP program that redirects |
//! | [`slots`] | shared memory per CPU | XDP program that takes short packets |
//! | [`ringbuf`] | a BPF ring buffer per CPU | XDP program that copies |
//!
//! To the rest of a capture a back end is an [`OpenedInterface`]: [`RxRing`](super::read::ring::RxRing)s, a
//! [`KernelFilter`] and a [`HandOver`].

pub mod af_xdp;
mod cpu_buffers;
pub mod packet;
pub mod ringbuf;
pub mod slots;
mod xdp_successor;

use std::sync::Arc;

use super::account::kernel_filter::KernelFilter;
use super::control::hand_over::HandOver;
use super::error::CaptureError;
use super::plan::backend::{Backend, FallBack, FilterPlace};
use super::plan::interface_plan::InterfacePlan;
use super::plan::mode::Mode;
use super::plan::options::CaptureOptions;
use super::plan::xdp_selection::XdpSelection;
use super::read::exact_filter::ExactFilter;
use super::read::ring::RingReader;

/// An interface as its back end has opened it.
pub struct OpenedInterface {
    /// At least one.
    pub rings: Vec<RingReader>,
    pub kernel_filter: Box<dyn KernelFilter>,
    /// The exact filter for the reader, behind a coarse filter in the kernel. There is one ring then.
    pub exact: Option<ExactFilter>,
    /// Where the filter runs; `None` without one.
    pub place: Option<FilterPlace>,
    /// Why AF_XDP sockets are used although shared memory would suit the options.
    pub fall_back: Option<FallBack>,
    /// Replaces the rings; `None` if they cannot be replaced.
    pub hand_over: Option<Box<dyn HandOver>>,
}

/// Opens interface `link` with the back end that suits the options. `kind` is the type of a virtual
/// interface, as ip(8) names it.
pub fn open(
    link: &str,
    kind: Option<&str>,
    plan: InterfacePlan,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    if options.mode == Mode::Drop {
        let selection = Arc::new(XdpSelection::new(link, &plan, options.required)?);
        return open_drop_mode(link, kind, &selection, options);
    }
    if options.backend == Some(Backend::XdpRingbuf) {
        let selection = XdpSelection::new(link, &plan, options.required)?;
        return ringbuf::open(link, &selection, options);
    }
    packet::open(link, plan, options)
}

fn open_drop_mode(
    link: &str,
    kind: Option<&str>,
    selection: &Arc<XdpSelection>,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    let fall_back = if slots::suits(options) {
        match slots::open(link, kind, selection, options)? {
            Ok(opened) => return Ok(opened),
            Err(reason) => Some(reason),
        }
    } else {
        None
    };
    Ok(OpenedInterface {
        fall_back,
        ..af_xdp::open(link, selection, options)?
    })
}
