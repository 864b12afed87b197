//! AF_XDP in drop mode: a socket per receive queue, and an XDP program that redirects packets to them.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::sync::Arc;

use abi::clock::monotonic_ns;
use bpf::{
    AttachedXdpProgram, PacketSelection, Program, XdpAttachMode, XdpCounters, XdpLink,
    XdpProgramError, XskProgram, XskProgramOptions,
};
use netlink::Netlink;
use ring::{
    Batch, DeviceClockState, InterfaceInfo, RingCounters, RingOpenError, RingOptionError,
    TimestampSource, XdpOpenError, XdpRing, XdpRingOptions, XdpSetupError, XdpSetupStep,
    XdpSnaplen,
};
use rustix::event::{Timespec, poll};
use rustix::io::Errno;

use super::super::account::kernel_filter::{FilterCounters, KernelFilter};
use super::super::account::summary::Sockets;
use super::super::control::error::ChangeError;
use super::super::control::hand_over::{HandOver, NewRings, Replacement, RunOptions};
use super::super::control::requested::Change;
use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::options::CaptureOptions;
use super::super::plan::xdp_selection::{XdpSelection, reselect};
use super::super::read::forecast::parts;
use super::super::read::ring::{RingReader, RxRing};
use super::OpenedInterface;
use super::xdp_successor::XdpSuccessor;

/// How long a queue may stay bound to a socket that is being closed. Measured: some milliseconds, more with a large
/// packet memory, and more than half a second where many programs wait for a CPU.
const UNBIND_NS: u64 = 2_000_000_000;

/// Interval between two attempts to bind.
const RETRY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// Opens a ring for each queue of `link`, and attaches the program last.
pub fn open(
    link: &str,
    selection: &XdpSelection,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    let steer = |error| CaptureError::Steer {
        link: link.to_owned(),
        error: Box::new(error),
    };
    let queues = XdpRing::queue_count(link)?.max(1);
    let rings = rings(link, queues, options)?;
    selection.check(rings[0].interface(), rings.len())?;
    let program_options = XskProgramOptions {
        multi_buffer: rings.iter().all(XdpRing::takes_multi_buffer),
        stamp: options.timestamps != TimestampSource::Reader,
        metadata: options.rx_metadata,
        ..XskProgramOptions::new(queues)
    };
    let load = |options: &XskProgramOptions<'_>| XskProgram::load(options);
    let program = with_filter(selection, program_options, options, load).map_err(steer)?;
    for ring in &rings {
        let inserted = program.insert(ring.queue(), ring.as_fd());
        inserted.map_err(steer)?;
    }
    // A program that asks the device runs only in its driver.
    let place = match options.rx_metadata {
        Some(_) => XdpAttachMode::Native,
        None => options.xdp,
    };
    let attached = XdpLink::attach(program.program(), rings[0].interface().index, place);
    let attached = attached.map_err(|error| steer(error.into()))?;
    let program = Arc::new(program);
    // Without a second handle, for lack of descriptors, the program cannot be replaced.
    let hand_over = attached.try_clone().ok().map(|xdp| {
        Box::new(RedirectHandOver {
            xdp,
            program: program.clone(),
            program_options,
            link: rings[0].interface().clone(),
            options: options.clone(),
            snaplens: rings.iter().map(XdpRing::snaplen).collect(),
        }) as Box<dyn HandOver>
    });
    let read = rings.iter().map(XdpRing::queue).collect();
    let rings = rings.into_iter();
    Ok(OpenedInterface {
        rings: rings.map(|ring| RingReader::Xdp(Box::new(ring))).collect(),
        kernel_filter: Box::new(RedirectFilter {
            program,
            link: Some(attached),
            queues: read,
            reads_all: options.queues.is_none(),
        }),
        exact: None,
        hand_over,
        place: selection.place(),
        fall_back: None,
    })
}

/// A ring for each queue that is read. They share the memory.
fn rings(link: &str, queues: u32, options: &CaptureOptions) -> Result<Vec<XdpRing>, CaptureError> {
    let read = match &options.queues {
        Some(only) => only.clone(),
        None => (0..queues).collect(),
    };
    let ring_options = |queue| XdpRingOptions {
        queue,
        promiscuous: options.promiscuous,
        snaplen: options.snaplen,
        buffer_bytes: options.buffer_bytes / read.len().max(1),
        busy_poll: options.busy_poll,
        device_clock: options.device_clock,
        ..XdpRingOptions::default()
    };
    let until_ns = monotonic_ns().saturating_add(UNBIND_NS);
    read.iter()
        .map(|&queue| open_unbound(link, &ring_options(queue), until_ns))
        .collect()
}

/// Retries until `until_ns` while the queue is bound: the kernel unbinds it some time after its socket was
/// closed and has no event for that. If an XDP program is attached, retrying is useless.
fn open_unbound(
    link: &str,
    options: &XdpRingOptions,
    until_ns: u64,
) -> Result<XdpRing, CaptureError> {
    loop {
        let error = match XdpRing::open(link, options) {
            Err(XdpOpenError::Setup(error)) if is_bound(&error) => error,
            answer => return Ok(answer?),
        };
        if let Some(holder) = holder(link) {
            return Err(CaptureError::QueueTaken {
                link: error.link,
                queue: error.queue,
                holder: Box::new(holder),
                source: error.source,
            });
        }
        if monotonic_ns() >= until_ns {
            return Err(XdpOpenError::Setup(error).into());
        }
        // A signal shortens the pause.
        let _ = poll(&mut [], Some(&RETRY));
    }
}

fn is_bound(error: &XdpSetupError) -> bool {
    error.step == XdpSetupStep::Bind && Errno::from_io_error(&error.source) == Some(Errno::BUSY)
}

/// The XDP program on `link`, if there is one and the kernel reports it.
fn holder(link: &str) -> Option<AttachedXdpProgram> {
    let link = Netlink::open().ok()?.link_named(link).ok()?;
    AttachedXdpProgram::of(link.ifindex().0).ok()?
}

/// Calls `load` for a program of `program_options` that begins with the filter.
fn with_filter<T>(
    selection: &XdpSelection,
    program_options: XskProgramOptions<'static>,
    options: &CaptureOptions,
    load: impl FnOnce(&XskProgramOptions<'_>) -> Result<T, XdpProgramError>,
) -> Result<T, XdpProgramError> {
    selection.load(XdpProgramError::Map, |select| {
        load(&XskProgramOptions {
            selection: PacketSelection {
                code: select,
                sampling: options.sampling,
                unmatched: options.others,
            },
            ..program_options
        })
    })
}

/// The program that redirects packets, while it has its link.
struct RedirectFilter {
    program: Arc<XskProgram>,
    link: Option<XdpLink>,
    /// The queue of each ring.
    queues: Vec<u32>,
    /// Every queue has a socket. Otherwise the program passes packets of the others to the stack.
    reads_all: bool,
}

impl KernelFilter for RedirectFilter {
    fn counters(&self) -> FilterCounters {
        let counts = if self.reads_all {
            self.program.counters().map(FilterCounters::from)
        } else {
            // Those of the other queues are in no account.
            let own = self.queues.iter();
            own.map(|&queue| self.program.counters_of(queue))
                .try_fold(XdpCounters::default(), |sum, one| Ok(sum + one?))
                .map(FilterCounters::from)
        };
        counts.unwrap_or_default()
    }

    fn counters_of(&self, ring: usize) -> Option<FilterCounters> {
        let counts = self.program.counters_of(*self.queues.get(ring)?);
        Some(counts.map(FilterCounters::from).unwrap_or_default())
    }

    fn detach(&mut self) {
        self.link = None;
    }

    fn xdp(&self) -> Option<&XdpLink> {
        self.link.as_ref()
    }

    fn loses_before_ring(&self) -> bool {
        true
    }
}

/// Loads programs with another filter, which take over in the link of the first one. A queue has one packet memory, which
/// cannot be replaced. It holds whole packets, so the snaplen is a matter of the reader.
struct RedirectHandOver {
    xdp: XdpLink,
    program: Arc<XskProgram>,
    /// All but the selection.
    program_options: XskProgramOptions<'static>,
    link: InterfaceInfo,
    options: CaptureOptions,
    /// Of all rings, also those of other readers.
    snaplens: Vec<XdpSnaplen>,
}

/// A snaplen for rings that stay.
struct SnaplenReplacement<'s> {
    snaplens: &'s [XdpSnaplen],
    bytes: NonZeroU32,
}

impl Replacement for SnaplenReplacement<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        for snaplen in self.snaplens {
            snaplen.set(self.bytes);
        }
        Ok(Vec::new().into())
    }
}

impl RedirectHandOver {
    fn with_selection(&mut self, options: &CaptureOptions) -> Result<Program, CaptureError> {
        let selection = reselect(&self.link, options)?;
        let load = |options: &XskProgramOptions<'_>| self.program.selecting(options);
        let program = with_filter(&selection, self.program_options, options, load);
        program.map_err(|error| CaptureError::Steer {
            link: self.link.name.clone(),
            error: Box::new(error),
        })
    }
}

impl HandOver for RedirectHandOver {
    fn backend(&self) -> Backend {
        Backend::Xdp
    }

    fn link(&self) -> &str {
        &self.link.name
    }

    fn prepare(
        &mut self,
        change: &Change,
        now: &RunOptions,
    ) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        match change {
            Change::Buffer(_) => {
                let backend = Backend::Xdp;
                return Err(ChangeError::Fixed { backend });
            }
            Change::Snaplen(bytes) => {
                let zero = || RingOpenError::from(RingOptionError::SnaplenZero);
                return Ok(Box::new(SnaplenReplacement {
                    bytes: NonZeroU32::new(*bytes).ok_or_else(zero)?,
                    snaplens: &self.snaplens,
                }));
            }
            Change::Direction(_) => {
                let link = self.link.name.clone();
                return Err(ChangeError::FixedDirection { link });
            }
            _ => {}
        }
        let mut options = self.options.clone();
        options.filter.clone_from(&now.filter);
        options.sampling = now.sampling;
        Ok(Box::new(XdpSuccessor {
            program: self.with_selection(&options)?,
            xdp: &mut self.xdp,
            link: &self.link.name,
        }))
    }
}

impl RxRing for XdpRing {
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
        let (waiting, most) = self.waiting_packets();
        parts(waiting, most)
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
        Backend::Xdp
    }

    fn buffer_bytes(&self) -> usize {
        self.buffer_bytes()
    }

    fn take_error(&self) -> io::Result<()> {
        self.take_error()
    }

    fn oldest_age_ns(&self, now_ns: u64) -> Option<u64> {
        Some(now_ns.saturating_sub(self.oldest_ns()?))
    }

    fn device_clock(&self) -> Option<DeviceClockState> {
        self.device_clock()
    }

    fn drive(&self) {
        self.drive();
    }

    fn sockets(&self) -> Option<Sockets> {
        Some(Sockets {
            zero_copy: self.is_zero_copy(),
            need_wakeup: self.uses_need_wakeup(),
            busy_poll: self.busy_poll().map(|busy_poll| busy_poll.budget),
        })
    }
}
