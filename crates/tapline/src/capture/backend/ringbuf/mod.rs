//! BPF ring buffers: an XDP program copies the beginnings of packets, which go on into the stack.

use std::sync::Arc;

use bpf::{
    CpuRingBuffers, PacketSelection, RingBufferProgram, RingBufferProgramOptions, XdpAttachMode,
    XdpLink, XdpProgramError,
};
use ring::{BpfRing, InterfaceInfo};

use super::super::account::kernel_filter::{FilterCounters, KernelFilter};
use super::super::control::error::ChangeError;
use super::super::control::hand_over::{HandOver, NewRings, Replacement, RunOptions};
use super::super::control::requested::Change;
use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::options::CaptureOptions;
use super::super::plan::xdp_selection::{XdpSelection, reselect};
use super::super::read::ring::RingReader;
use super::OpenedInterface;
use super::cpu_buffers::CpuBuffers;
use super::xdp_successor::XdpSuccessor;

/// Smallest buffer of a CPU, bytes: it holds the packets of one NAPI round, and is a multiple of any page size.
const MIN_BYTES: u32 = 1 << 16;

/// Largest buffer of a CPU, bytes.
const MAX_BYTES: usize = 1 << 30;

/// Opens a buffer for every CPU, and attaches the program last.
pub fn open(
    link: &str,
    selection: &XdpSelection,
    options: &CaptureOptions,
) -> Result<OpenedInterface, CaptureError> {
    let copy = |error| CaptureError::Copy {
        link: link.to_owned(),
        error,
    };
    let (program, maps) = load(selection, options).map_err(copy)?;
    let buffers = buffers(link, &maps, options)?;
    selection.check(buffers.link(), buffers.count())?;
    // A program that asks the device runs only in its driver.
    let place = match options.rx_metadata {
        Some(_) => XdpAttachMode::Native,
        None => options.xdp,
    };
    let attached = XdpLink::attach(program.program(), buffers.link().index, place);
    let attached = attached.map_err(|error| copy(error.into()))?;
    let program = Arc::new(program);
    let cpus = maps.iter().map(|(cpu, _)| cpu).collect();
    // Without a second handle, for lack of descriptors, nothing can be replaced.
    let hand_over = attached.try_clone().ok().map(|xdp| {
        Box::new(RingbufHandOver {
            xdp,
            program: program.clone(),
            maps,
            link: buffers.link().clone(),
            options: options.clone(),
            is_shared: false,
        }) as Box<dyn HandOver>
    });
    Ok(OpenedInterface {
        rings: buffers.into_rings(),
        kernel_filter: Box::new(CopyFilter {
            program,
            link: Some(attached),
            cpus,
        }),
        exact: None,
        hand_over,
        place: selection.place(),
        fall_back: None,
    })
}

fn load(
    selection: &XdpSelection,
    options: &CaptureOptions,
) -> Result<(RingBufferProgram, CpuRingBuffers), XdpProgramError> {
    let buffer_bytes = cpu_bytes(options.buffer_bytes, RingBufferProgram::cpu_count()?);
    with_filter(selection, options, |options| {
        RingBufferProgram::load(&RingBufferProgramOptions {
            buffer_bytes,
            ..*options
        })
    })
}

/// Calls `load` with the options of a program that begins with the filter.
fn with_filter<T>(
    selection: &XdpSelection,
    options: &CaptureOptions,
    load: impl FnOnce(&RingBufferProgramOptions<'_>) -> Result<T, XdpProgramError>,
) -> Result<T, XdpProgramError> {
    selection.load(XdpProgramError::Map, |select| {
        load(&RingBufferProgramOptions {
            metadata: options.rx_metadata,
            selection: PacketSelection {
                code: select,
                sampling: options.sampling,
                ..PacketSelection::default()
            },
            ..RingBufferProgramOptions::new(options.snaplen)
        })
    })
}

/// The buffer of each of `cpus`.
fn cpu_bytes(buffer_bytes: usize, cpus: usize) -> u32 {
    let bytes = (buffer_bytes / cpus).min(MAX_BYTES).next_power_of_two();
    (bytes as u32).max(MIN_BYTES)
}

/// The reader's end of `maps`.
fn buffers(
    link: &str,
    maps: &CpuRingBuffers,
    options: &CaptureOptions,
) -> Result<CpuBuffers, CaptureError> {
    let maps = maps.iter().map(|(_, map)| map);
    CpuBuffers::open(link, options, maps, BpfRing::open)
}

/// The program that copies packets, while it has its link.
struct CopyFilter {
    program: Arc<RingBufferProgram>,
    link: Option<XdpLink>,
    /// The CPU of each ring.
    cpus: Vec<u32>,
}

impl KernelFilter for CopyFilter {
    fn counters(&self) -> FilterCounters {
        let counts = self.program.counters().map(FilterCounters::from);
        counts.unwrap_or_default()
    }

    fn counters_of(&self, ring: usize) -> Option<FilterCounters> {
        let counts = self.program.counters_of(*self.cpus.get(ring)?);
        Some(counts.map(FilterCounters::from).unwrap_or_default())
    }

    fn detach(&mut self) {
        self.link = None;
    }

    fn xdp(&self) -> Option<&XdpLink> {
        self.link.as_ref()
    }
}

/// Creates other buffers for the program, and programs with another filter, which take over in its link.
struct RingbufHandOver {
    /// Dropped before the program.
    xdp: XdpLink,
    /// The first. Those that follow have its buffers and counters.
    program: Arc<RingBufferProgram>,
    /// The newest.
    maps: CpuRingBuffers,
    link: InterfaceInfo,
    options: CaptureOptions,
    is_shared: bool,
}

/// Buffers that are ready to take over.
struct RingbufReplacement<'l> {
    hand_over: &'l mut RingbufHandOver,
    maps: CpuRingBuffers,
    rings: Vec<RingReader>,
}

impl RingbufHandOver {
    /// A program with another filter, snaplen or sampling in front of the same buffers.
    fn prepare_program(
        &mut self,
        options: &CaptureOptions,
    ) -> Result<XdpSuccessor<'_>, CaptureError> {
        let selection = reselect(&self.link, options)?;
        let load = |options: &RingBufferProgramOptions<'_>| self.program.selecting(options);
        let program = with_filter(&selection, options, load);
        let program = program.map_err(|error| CaptureError::Copy {
            link: self.link.name.clone(),
            error,
        })?;
        Ok(XdpSuccessor {
            xdp: &mut self.xdp,
            link: &self.link.name,
            program,
        })
    }

    fn prepare_buffers(
        &mut self,
        buffer_bytes: usize,
    ) -> Result<RingbufReplacement<'_>, CaptureError> {
        let bytes = cpu_bytes(buffer_bytes, self.maps.iter().len());
        let maps = self.maps.another(bytes);
        let maps = maps.map_err(|error| CaptureError::Copy {
            link: self.link.name.clone(),
            error,
        })?;
        let buffers = buffers(&self.link.name, &maps, &self.options)?.check(&self.link)?;
        Ok(RingbufReplacement {
            maps,
            rings: buffers.into_rings(),
            hand_over: self,
        })
    }
}

impl HandOver for RingbufHandOver {
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
        match *change {
            Change::Direction(_) => {
                let link = self.link.name.clone();
                return Err(ChangeError::FixedDirection { link });
            }
            // Records are put together in memory of the first program, which has room for its snaplen.
            Change::Snaplen(bytes) if bytes > self.options.snaplen => {
                let most = self.options.snaplen;
                return Err(ChangeError::LongerSnaplen { most });
            }
            Change::Buffer(_) if self.is_shared => {
                let backend = Backend::XdpRingbuf;
                return Err(ChangeError::Fixed { backend });
            }
            Change::Buffer(bytes) => return Ok(Box::new(self.prepare_buffers(bytes)?)),
            _ => {}
        }
        let mut options = self.options.clone();
        options.filter.clone_from(&now.filter);
        options.sampling = now.sampling;
        options.snaplen = now.snaplen;
        Ok(Box::new(self.prepare_program(&options)?))
    }
}

impl Replacement for RingbufReplacement<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        let Self {
            hand_over,
            maps,
            rings,
        } = *self;
        let taken_over = hand_over.program.exchange(&maps);
        taken_over.map_err(|source| ChangeError::HandOver {
            link: hand_over.link.name.clone(),
            source,
        })?;
        hand_over.maps = maps;
        Ok(rings.into())
    }
}
