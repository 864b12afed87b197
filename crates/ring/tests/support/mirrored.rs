//! Ring buffers with the program that fills them.

use std::io;

use lab::Host;
use lab::bpf::{Mirror, MirrorCounts, MirrorOptions, XdpLink, XdpPlace};
use tapline_ring::{Account, Batch, BufferOptions, RingBuffer};

use super::Ring;

impl Ring for RingBuffer {
    fn next_batch(&mut self) -> Option<Batch<'_>> {
        Self::next_batch(self)
    }
    fn refresh(&mut self) -> io::Result<()> {
        Self::refresh(self);
        Ok(())
    }
    fn account(&self) -> &Account {
        Self::account(self)
    }
}

/// A program on the host's first interface, and a buffer for each CPU.
#[derive(Debug)]
pub struct Mirrored {
    pub buffers: Vec<RingBuffer>,
    pub mirror: Mirror,
    pub link: XdpLink,
}

/// Mirrors what arrives at `host`.
#[track_caller]
pub fn mirror(host: &Host, place: XdpPlace, options: &MirrorOptions<'_>) -> Mirrored {
    let loaded = Mirror::load(options);
    let (mirror, buffers) = loaded.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let link = host.run(|| mirror.attach(host.interface().index.0, place));
    let link = link.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let name = host.interface().name.to_string();
    let open = |(_, map)| {
        let buffer = host.run(|| RingBuffer::open(&name, map, &BufferOptions::default()));
        buffer.unwrap_or_else(|error| panic!("{error}: {error:?}"))
    };
    let buffers = buffers.iter().map(open).collect();
    Mirrored {
        buffers,
        mirror,
        link,
    }
}

impl Mirrored {
    /// The buffer of CPU 0, which sends what [`super::send`] sends, and receives it too.
    pub fn first(&mut self) -> &mut RingBuffer {
        &mut self.buffers[0]
    }

    #[track_caller]
    pub fn counts(&self) -> MirrorCounts {
        self.mirror.counts().unwrap()
    }
}
