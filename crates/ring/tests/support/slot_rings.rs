//! The XDP program that takes packets from the driver, and the slot rings that it fills.

use lab::Host;
use lab::bpf::{SlotProgram, SlotProgramOptions, XdpAttachMode, XdpLink};
use tapline_ring::{BpfRing, BpfRingOptions};

/// A program on the host's first interface, and the slot ring of each CPU.
#[derive(Debug)]
pub struct SlotRings {
    pub buffers: Vec<BpfRing>,
    pub link: XdpLink,
    pub slot_program: SlotProgram,
}

/// Takes packets received by `host`.
#[track_caller]
pub fn take(host: &Host, place: XdpAttachMode, options: &SlotProgramOptions<'_>) -> SlotRings {
    let slot_program =
        SlotProgram::load(options).unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let link =
        host.run(|| XdpLink::attach(slot_program.program(), host.interface().index.0, place));
    let link = link.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let name = host.interface().name.to_string();
    let open = |place| {
        let buffer = host.run(|| BpfRing::open_slots(&name, &place, &BpfRingOptions::default()));
        buffer.unwrap_or_else(|error| panic!("{error}: {error:?}"))
    };
    let buffers = slot_program.rings().map(open).collect();
    SlotRings {
        buffers,
        link,
        slot_program,
    }
}

impl SlotRings {
    /// The memory of CPU 0, which sends the packets of [`super::send`] and receives them too.
    pub fn first(&mut self) -> &mut BpfRing {
        &mut self.buffers[0]
    }
}
