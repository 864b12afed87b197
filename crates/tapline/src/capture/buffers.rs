//! Memory of every CPU that a program fills and the reader shares.

use ring::{BufferError, BufferOptions, Link, RingBuffer};

use super::error::CaptureError;
use super::options::Options;
use super::source::Source;

/// The buffers of an interface: at least one.
pub(super) struct Buffers(Vec<RingBuffer>);

impl Buffers {
    /// Has `open` open the buffer at each of `places`.
    pub fn open<P>(
        link: &str,
        options: &Options,
        places: impl Iterator<Item = P>,
        open: impl Fn(&str, P, &BufferOptions) -> Result<RingBuffer, BufferError>,
    ) -> Result<Self, CaptureError> {
        let buffer_options = BufferOptions {
            promiscuous: options.promiscuous,
            snaplen: options.snaplen,
        };
        let buffers: Result<Vec<_>, _> = places
            .map(|place| open(link, place, &buffer_options))
            .collect();
        Ok(Self(buffers?))
    }

    /// Refuses those of another interface than `link`, whose name it has.
    pub fn of(self, link: &Link) -> Result<Self, CaptureError> {
        if self.link().index == link.index {
            return Ok(self);
        }
        let link = link.name.clone();
        Err(CaptureError::LinkReplaced { link })
    }

    /// Their interface.
    pub fn link(&self) -> &Link {
        self.0[0].link()
    }

    pub fn into_sources(self) -> Vec<Source> {
        let source = |buffer| Source::Buffer(Box::new(buffer));
        self.0.into_iter().map(source).collect()
    }
}
