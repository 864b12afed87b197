//! Shared memory in drop mode: an XDP program keeps the beginnings of packets in slots that the reader reads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abi::kernel::is_older_than;
use bpf::{
    PacketSelection, SlotProgram, SlotProgramOptions, XdpCounters, XdpLink, XdpProgramError,
};
use ring::{BpfRing, InterfaceInfo, TimestampSource};
use rustix::thread::{CapabilitySet, capabilities};

use super::super::account::kernel_filter::{FilterCounters, KernelFilter};
use super::super::control::error::ChangeError;
use super::super::control::hand_over::{HandOver, NewRings, Replacement, RunOptions};
use super::super::control::requested::Change;
use super::super::error::CaptureError;
use super::super::plan::backend::{Backend, FallBack};
use super::super::plan::mode::SHORT_SNAPLEN;
use super::super::plan::options::CaptureOptions;
use super::super::plan::xdp_selection::{XdpSelection, reselect};
use super::super::read::ring::RingReader;
use super::OpenedInterface;
use super::cpu_buffers::CpuBuffers;

/// Whether the program supports `options`.
pub fn suits(options: &CaptureOptions) -> bool {
    options.backend.is_none()
        && options.snaplen <= SHORT_SNAPLEN
        && !matches!(
            options.timestamps,
            TimestampSource::Reader | TimestampSource::Hardware
        )
        && options.busy_poll.is_none()
        && options.queues.is_none()
}

/// Opens the memory of every CPU, and attaches the program last; or returns why AF_XDP has to be used.
/// `kind` is the type of a virtual interface.
pub fn open(
    link: &str,
    kind: Option<&str>,
    selection: &Arc<XdpSelection>,
    options: &CaptureOptions,
) -> Result<Result<OpenedInterface, FallBack>, CaptureError> {
    if !SlotProgram::SUPPORTED {
        return Ok(Err(FallBack::Processor));
    }
    if kind == Some("tun") {
        return Ok(Err(FallBack::Driver));
    }
    let steer = |error| CaptureError::Steer {
        link: link.to_owned(),
        error: Box::new(error),
    };
    let load = |options: &SlotProgramOptions<'_>| SlotProgram::load(options);
    let program = match with_filter(selection, options, load) {
        Ok(program) => program,
        Err(error) => match fall_back(&error) {
            Some(reason) => return Ok(Err(reason)),
            None => return Err(steer(error)),
        },
    };
    let buffers = buffers(link, &program, options)?;
    selection.check(buffers.link(), buffers.count())?;
    let attached = XdpLink::attach(program.program(), buffers.link().index, options.xdp);
    let attached = attached.map_err(|error| steer(error.into()))?;
    let programs = Arc::new(Programs::new(program));
    // Without a second handle, for lack of descriptors, the memory cannot be replaced.
    let hand_over = attached.try_clone().ok().map(|xdp| {
        Box::new(SlotsHandOver {
            xdp,
            programs: programs.clone(),
            link: buffers.link().clone(),
            selection: selection.clone(),
            options: options.clone(),
            is_shared: false,
        }) as Box<dyn HandOver>
    });
    Ok(Ok(OpenedInterface {
        rings: buffers.into_rings(),
        kernel_filter: Box::new(SlotsFilter {
            link: Some(attached),
            programs,
        }),
        exact: None,
        hand_over,
        place: selection.place(),
        fall_back: None,
    }))
}

/// The reason if the kernel refused what only this program needs: a tracepoint, and recent helpers and flags.
fn fall_back(error: &XdpProgramError) -> Option<FallBack> {
    let source = match error {
        XdpProgramError::Map(error) => &error.source,
        XdpProgramError::Load(bpf::LoadError::Refused { source, .. }) => source,
        _ => return None,
    };
    match source.raw_os_error()? {
        libc::EPERM => Some(FallBack::Privilege),
        // The verifier's answer to a wrong program, and to one that needs a missing privilege.
        libc::EACCES if !is_trusted() => Some(FallBack::Privilege),
        // Older kernels refuse unknown flags and helpers, and an array whose values are so large.
        libc::EINVAL | libc::E2BIG if is_older_than(MIN_KERNEL) => Some(FallBack::Kernel),
        libc::ENOENT => Some(FallBack::Kernel),
        // If the filter is the reason, the verifier rejects AF_XDP's program as well.
        libc::EACCES | libc::EINVAL => Some(FallBack::Verifier),
        _ => None,
    }
}

/// The first kernel with all that the program needs (`bpf_xdp_load_bytes`).
const MIN_KERNEL: (u32, u32) = (5, 18);

/// Whether the verifier grants this thread's programs all operations; no if that cannot be determined.
fn is_trusted() -> bool {
    let trusted = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.intersects(trusted))
}

/// Calls `load` for a program that begins with the filter.
fn with_filter(
    selection: &XdpSelection,
    options: &CaptureOptions,
    load: impl FnOnce(&SlotProgramOptions<'_>) -> Result<SlotProgram, XdpProgramError>,
) -> Result<SlotProgram, XdpProgramError> {
    selection.load(XdpProgramError::Map, |select| {
        load(&SlotProgramOptions {
            buffer_bytes: options.buffer_bytes,
            selection: PacketSelection {
                code: select,
                sampling: options.sampling,
                unmatched: options.others,
            },
            ..SlotProgramOptions::new(options.snaplen)
        })
    })
}

/// The reader's end of the memory that `program` fills.
fn buffers(
    link: &str,
    program: &SlotProgram,
    options: &CaptureOptions,
) -> Result<CpuBuffers, CaptureError> {
    let open = |link: &str, place, options: &_| BpfRing::open_slots(link, &place, options);
    CpuBuffers::open(link, options, program.rings(), open)
}

/// The attached program, and what the programs before it counted.
struct Programs(Mutex<(Arc<SlotProgram>, XdpCounters)>);

impl Programs {
    fn new(first: SlotProgram) -> Self {
        Self(Mutex::new((Arc::new(first), XdpCounters::default())))
    }

    fn lock(&self) -> MutexGuard<'_, (Arc<SlotProgram>, XdpCounters)> {
        // A thread that panicked here left consistent values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> Arc<SlotProgram> {
        self.lock().0.clone()
    }

    fn counts(&self) -> XdpCounters {
        let (newest, before) = &*self.lock();
        *before + newest.counters()
    }

    /// `next` has taken over, and no CPU runs the program before it.
    fn replace(&self, next: SlotProgram) {
        let (newest, before) = &mut *self.lock();
        // The counters are in the memory.
        if !next.shares_memory(newest) {
            *before = *before + newest.counters();
        }
        *newest = Arc::new(next);
    }
}

/// The programs in front of the slots, while they have their link. The link is detached first.
struct SlotsFilter {
    link: Option<XdpLink>,
    programs: Arc<Programs>,
}

impl KernelFilter for SlotsFilter {
    fn counters(&self) -> FilterCounters {
        self.programs.counts().into()
    }

    fn counters_of(&self, ring: usize) -> Option<FilterCounters> {
        // Several readers keep the first memory.
        Some(self.programs.newest().counters_of(ring).into())
    }

    fn detach(&mut self) {
        self.link = None;
    }

    fn xdp(&self) -> Option<&XdpLink> {
        self.link.as_ref()
    }
}

/// Loads programs with another filter or other memory, which take over in the link of the first one.
struct SlotsHandOver {
    /// Dropped before the programs.
    xdp: XdpLink,
    programs: Arc<Programs>,
    link: InterfaceInfo,
    selection: Arc<XdpSelection>,
    options: CaptureOptions,
    /// Several readers have the memory.
    is_shared: bool,
}

/// A program that is ready to take over, with its memory if that is other memory.
struct SlotsReplacement<'l> {
    hand_over: &'l mut SlotsHandOver,
    program: SlotProgram,
    rings: Vec<RingReader>,
    selection: Arc<XdpSelection>,
    options: CaptureOptions,
}

impl SlotsHandOver {
    /// A program with other memory.
    fn with_memory(
        &mut self,
        options: CaptureOptions,
    ) -> Result<SlotsReplacement<'_>, CaptureError> {
        let newest = self.programs.newest();
        let load = |options: &SlotProgramOptions<'_>| newest.successor(options);
        let program = with_filter(&self.selection, &options, load);
        let program = program.map_err(|error| self.steer(error))?;
        let buffers = buffers(&self.link.name, &program, &options)?.check(&self.link)?;
        Ok(SlotsReplacement {
            program,
            rings: buffers.into_rings(),
            selection: self.selection.clone(),
            options,
            hand_over: self,
        })
    }

    /// A program with another filter or sampling in front of the same memory.
    fn with_selection(
        &mut self,
        options: CaptureOptions,
    ) -> Result<SlotsReplacement<'_>, CaptureError> {
        let selection = reselect(&self.link, &options)?;
        let newest = self.programs.newest();
        let load = |options: &SlotProgramOptions<'_>| newest.selecting(&options.selection);
        let program = with_filter(&selection, &options, load);
        Ok(SlotsReplacement {
            program: program.map_err(|error| self.steer(error))?,
            rings: Vec::new(),
            selection: Arc::new(selection),
            options,
            hand_over: self,
        })
    }

    fn steer(&self, error: XdpProgramError) -> CaptureError {
        CaptureError::Steer {
            link: self.link.name.clone(),
            error: Box::new(error),
        }
    }
}

impl HandOver for SlotsHandOver {
    fn backend(&self) -> Backend {
        Backend::XdpRingbuf
    }

    fn link(&self) -> &str {
        &self.link.name
    }

    fn share(&mut self) {
        self.is_shared = true;
    }

    fn prepare(
        &mut self,
        change: &Change,
        now: &RunOptions,
    ) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        let mut options = self.options.clone();
        options.filter.clone_from(&now.filter);
        options.sampling = now.sampling;
        let prepared = match *change {
            Change::Direction(_) => {
                let link = self.link.name.clone();
                return Err(ChangeError::FixedDirection { link });
            }
            Change::Snaplen(bytes) if self.is_shared || bytes > SHORT_SNAPLEN => {
                return Err(ChangeError::FixedSnaplen);
            }
            Change::Buffer(_) if self.is_shared => {
                let backend = Backend::XdpRingbuf;
                return Err(ChangeError::Fixed { backend });
            }
            Change::Snaplen(bytes) => {
                options.snaplen = bytes;
                self.with_memory(options)?
            }
            Change::Buffer(bytes) => {
                options.buffer_bytes = bytes;
                self.with_memory(options)?
            }
            _ => self.with_selection(options)?,
        };
        Ok(Box::new(prepared))
    }
}

impl Replacement for SlotsReplacement<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        let Self {
            hand_over,
            program,
            rings,
            selection,
            options,
        } = *self;
        let taken_over = program.take_over(&mut hand_over.xdp);
        taken_over.map_err(|source| ChangeError::HandOver {
            link: hand_over.link.name.clone(),
            source,
        })?;
        hand_over.programs.replace(program);
        (hand_over.selection, hand_over.options) = (selection, options);
        Ok(rings.into())
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::super::plan::interface_plan::InterfacePlan;
    use super::super::super::plan::options::Required;
    use super::*;

    #[test]
    fn a_driver_without_napi_falls_back_to_sockets() {
        let (everything, required) = (InterfacePlan::Everything, Required::default());
        let selection = XdpSelection::new("tap0", &everything, required).unwrap();
        let options = CaptureOptions::default();
        let opened = open("tap0", Some("tun"), &Arc::new(selection), &options).unwrap();
        assert_eq!(opened.err(), Some(FallBack::Driver));
    }
}
