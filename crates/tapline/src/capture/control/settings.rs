//! What a running capture is set to.

use std::time::Duration;

use bpf::Sampling;
use ring::{DeliveryMode, DirectionFilter};

use super::super::plan::mode::Mode;

/// The options of a running capture that [`Control`](super::handle::Control) changes, as they are now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunningSettings {
    /// When packets are delivered.
    pub delivery: DeliveryMode,
    /// How long a reader watches its rings before it sleeps.
    pub spin: Duration,
    /// Bytes of the ring of each interface, as asked for; an interface in drop mode may have more.
    pub buffer_bytes: usize,
    /// How long the reader may be away; `None`: the default of the delivery.
    pub stall: Option<Duration>,
    /// Bytes captured per packet.
    pub snaplen: u32,
    /// Which of the accepted packets are kept; `None`: all.
    pub sampling: Option<Sampling>,
    /// The direction of captured packets. Drop mode captures received packets only.
    pub direction: DirectionFilter,
    /// Each interface that is captured, with its mode.
    pub modes: Vec<(String, Mode)>,
}
