//! Ring buffers and the program that fills them.

use std::io;

use lab::Host;
use lab::bpf::{RingBufferProgram, RingBufferProgramOptions, XdpAttachMode, XdpCounters, XdpLink};
use tapline_ring::{Batch, BpfRing, BpfRingOptions, RingCounters};

use super::Ring;

impl Ring for BpfRing {
    fn next_batch(&mut self) -> Option<Batch<'_>> {
        Self::next_batch(self)
    }
    fn refresh(&mut self) -> io::Result<()> {
        Self::refresh(self);
        Ok(())
    }
    fn counters(&self) -> &RingCounters {
        Self::counters(self)
    }
}

/// A program on the host's first interface, and a buffer for each CPU.
#[derive(Debug)]
pub struct RingBuffers {
    pub buffers: Vec<BpfRing>,
    pub mirror: RingBufferProgram,
    pub link: XdpLink,
}

/// Mirrors packets received by `host`.
#[track_caller]
pub fn mirror(
    host: &Host,
    place: XdpAttachMode,
    options: &RingBufferProgramOptions<'_>,
) -> RingBuffers {
    let loaded = RingBufferProgram::load(options);
    let (mirror, buffers) = loaded.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let link = host.run(|| XdpLink::attach(mirror.program(), host.interface().index.0, place));
    let link = link.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let name = host.interface().name.to_string();
    let open = |(_, map)| {
        let buffer = host.run(|| BpfRing::open(&name, map, &BpfRingOptions::default()));
        buffer.unwrap_or_else(|error| panic!("{error}: {error:?}"))
    };
    let buffers = buffers.iter().map(open).collect();
    RingBuffers {
        buffers,
        mirror,
        link,
    }
}

impl RingBuffers {
    /// The buffer of CPU 0, which sends the packets of [`super::send`] and receives them too.
    pub fn first(&mut self) -> &mut BpfRing {
        &mut self.buffers[0]
    }

    #[track_caller]
    pub fn counters(&self) -> XdpCounters {
        self.mirror.counters().unwrap()
    }
}
