//! What is known of an interface once a capture has opened it.

use bpf::{XdpAttachError, XdpMode};
use ring::Link;

use super::backend::Backend;
use super::filter::FilterPlace;
use super::intake::FallBack;
use super::sockets::Sockets;

/// An interface of an open capture.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenLink<'c> {
    /// Its name, index and link layer.
    pub link: &'c Link,
    /// How its packets cross the kernel border.
    pub backend: Backend,
    /// Number of its rings.
    pub rings: usize,
    /// Size of their memory together, bytes.
    pub buffer_bytes: usize,
    /// Where its filter runs; `None` without one.
    pub filter: Option<FilterPlace>,
    /// Where the XDP program runs, if there is one.
    pub xdp_mode: Option<XdpMode>,
    /// How its AF_XDP sockets receive, if it has such.
    pub sockets: Option<Sockets>,
    /// Why it has them, where memory that the program fills would have suited.
    pub fall_back: Option<FallBack>,
    /// Why it does not run in the driver, if that was tried first.
    pub native_refusal: Option<&'c XdpAttachError>,
}
