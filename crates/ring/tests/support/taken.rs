//! The program that takes packets, with the memory that it fills.

use lab::Host;
use lab::bpf::{Intake, IntakeOptions, XdpLink, XdpPlace};
use tapline_ring::{BufferOptions, RingBuffer};

/// A program on the host's first interface, and the memory of each CPU.
#[derive(Debug)]
pub struct Taken {
    pub buffers: Vec<RingBuffer>,
    pub link: XdpLink,
    pub intake: Intake,
}

/// Takes what arrives at `host`.
#[track_caller]
pub fn take(host: &Host, place: XdpPlace, options: &IntakeOptions<'_>) -> Taken {
    let intake = Intake::load(options).unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let link = host.run(|| intake.attach(host.interface().index.0, place));
    let link = link.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let name = host.interface().name.to_string();
    let open = |place| {
        let buffer = host.run(|| RingBuffer::open_slots(&name, &place, &BufferOptions::default()));
        buffer.unwrap_or_else(|error| panic!("{error}: {error:?}"))
    };
    let buffers = intake.places().map(open).collect();
    Taken {
        buffers,
        link,
        intake,
    }
}

impl Taken {
    /// The memory of CPU 0, which sends what [`super::send`] sends, and receives it too.
    pub fn first(&mut self) -> &mut RingBuffer {
        &mut self.buffers[0]
    }
}
