//! What only newer kernels have, for tests that also run on older ones.
//!
//! The version decides: trying these features would be the test itself.

use crate::skip::{Feature, kernel_at_least};

/// XDP programs that run on frames which leave through a driver, as the [generator](crate::generator) has them.
pub const LIVE_FRAMES: Feature = Feature {
    name: "XDP live frames",
    probe: || kernel_at_least(5, 18),
};

/// Busy polling of sockets that prefer it (`SO_PREFER_BUSY_POLL`).
pub const BUSY_POLLING: Feature = Feature {
    name: "busy polling",
    probe: || kernel_at_least(5, 11),
};

/// Interfaces that a thread of the kernel serves (`/sys/class/net/IF/threaded`).
pub const THREADED_NAPI: Feature = Feature {
    name: "threaded NAPI",
    probe: || kernel_at_least(5, 12),
};

/// XDP programs for frames of several buffers, and the functions that read these.
pub const XDP_FRAGMENTS: Feature = Feature {
    name: "XDP programs for frames of several buffers",
    probe: || kernel_at_least(5, 18),
};

/// AF_XDP sockets for frames of several buffers.
pub const AF_XDP_FRAGMENTS: Feature = Feature {
    name: "AF_XDP for frames of several buffers",
    probe: || kernel_at_least(6, 6),
};

/// Drivers that say what they do with XDP frames.
pub const XDP_ABILITIES: Feature = Feature {
    name: "drivers that tell their XDP features",
    probe: || kernel_at_least(6, 3),
};

/// Jumps in BPF programs over more than 32 767 instructions (`gotol`): Linux 6.6, and Debian's 6.1.
pub const LONG_JUMPS: Feature = Feature {
    name: "long jumps in BPF programs",
    probe: || kernel_at_least(6, 1),
};

/// AF_XDP frames with a time at which they leave.
pub const LAUNCH_TIMES: Feature = Feature {
    name: "AF_XDP launch times",
    probe: || kernel_at_least(6, 14),
};
