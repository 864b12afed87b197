//! How AF_XDP sockets receive, as the kernel granted it.

use std::num::NonZeroU16;

use super::lane::Lane;
use super::source::Source;

/// How the AF_XDP sockets of an interface receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sockets {
    /// The driver of each queue receives straight into the packet memory; otherwise packets are copied.
    #[doc(alias = "XDP_ZEROCOPY")]
    pub zero_copy: bool,
    /// The kernel tells when it has to be woken, and is not called otherwise.
    #[doc(alias = "XDP_USE_NEED_WAKEUP")]
    pub need_wakeup: bool,
    /// Packets that the driver handles in one go at most when the reader runs it; `None` where it does not.
    #[doc(alias = "SO_BUSY_POLL_BUDGET")]
    pub busy_poll: Option<NonZeroU16>,
}

impl Sockets {
    /// Of all these lanes together; `None` where they have no such sockets.
    pub(super) fn of(lanes: &[Lane]) -> Option<Self> {
        let of = |lane: &Lane| match &lane.source {
            Source::Xdp(ring) => Some(Self {
                zero_copy: ring.is_zero_copy(),
                need_wakeup: ring.uses_need_wakeup(),
                busy_poll: ring.busy_poll().map(|busy_poll| busy_poll.budget),
            }),
            Source::Packet(_) | Source::Buffer(_) => None,
        };
        lanes.iter().filter_map(of).reduce(Self::and)
    }

    /// What holds for both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            zero_copy: self.zero_copy && other.zero_copy,
            need_wakeup: self.need_wakeup && other.need_wakeup,
            busy_poll: self.busy_poll.and(other.busy_poll),
        }
    }
}
