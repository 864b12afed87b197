//! BPF ring buffers: an XDP program copies the beginnings of packets, which go on into the stack.

use std::sync::Arc;

use bpf::{
    CpuRingBuffers, PacketSelection, RingBufferProgram, RingBufferProgramOptions, XdpLink,
    XdpProgramError,
};
use ring::{BpfRing, InterfaceInfo};

use super::super::account::kernel_filter::{FilterCounters, KernelFilter};
use super::super::control::error::ChangeError;
use super::super::control::hand_over::{HandOver, NewRings, Replacement, RunOptions};
use super::super::control::requested::Change;
use super::super::error::CaptureError;
use super::super::plan::backend::Backend;
use super::super::plan::options::CaptureOptions;
use super::super::plan::xdp_selection::XdpSelection;
use super::super::read::ring::RingReader;
use super::OpenedInterface;
use super::cpu_buffers::CpuBuffers;

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
    let attached = XdpLink::attach(program.program(), buffers.link().index, options.xdp);
    let attached = attached.map_err(|error| copy(error.into()))?;
    let program = Arc::new(program);
    let cpus = maps.iter().map(|(cpu, _)| cpu).collect();
    let hand_over = RingbufHandOver {
        program: program.clone(),
        maps,
        link: buffers.link().clone(),
        options: options.clone(),
        is_shared: false,
    };
    Ok(OpenedInterface {
        rings: buffers.into_rings(),
        kernel_filter: Box::new(CopyFilter {
            program,
            link: Some(attached),
            cpus,
        }),
        exact: None,
        hand_over: Some(Box::new(hand_over)),
        place: selection.place(),
        fall_back: None,
    })
}

fn load(
    selection: &XdpSelection,
    options: &CaptureOptions,
) -> Result<(RingBufferProgram, CpuRingBuffers), XdpProgramError> {
    let buffer_bytes = cpu_bytes(options.buffer_bytes, RingBufferProgram::cpu_count()?);
    selection.load(XdpProgramError::Map, |select| {
        RingBufferProgram::load(&RingBufferProgramOptions {
            buffer_bytes,
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

/// Creates other buffers for the program.
struct RingbufHandOver {
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
        options: &RunOptions,
    ) -> Result<Box<dyn Replacement + '_>, ChangeError> {
        let backend = Backend::XdpRingbuf;
        if change.is_of_filter() {
            return Err(ChangeError::FixedFilter { backend });
        }
        if self.is_shared {
            return Err(ChangeError::Fixed { backend });
        }
        Ok(Box::new(self.prepare_buffers(options.buffer_bytes)?))
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
