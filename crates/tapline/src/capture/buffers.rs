//! Memory of every CPU that a program fills and the reader shares.

use ring::{BufferError, BufferOptions, Link, RingBuffer};

use super::error::CaptureError;
use super::options::Options;
use super::selection::Selection;
use super::source::Source;

/// The buffers of an interface: at least one.
pub(super) struct Buffers(Vec<RingBuffer>);

impl Buffers {
    /// Has `open` open the buffer at each of `places`, and sees that `link` is still the interface that
    /// the filter was made for.
    pub fn open<P>(
        link: &str,
        selection: &Selection,
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
        let buffers = Self(buffers?);
        selection.check(buffers.link())?;
        Ok(buffers)
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
