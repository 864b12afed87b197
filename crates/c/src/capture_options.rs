//! What to capture, and how.

use std::time::Duration;

use tapline::capture::{
    Backend, CaptureOptions, DeliveryMode, DirectionFilter, Mode, TimestampSource, UnmatchedAction,
    XdpAttachMode,
};

use crate::arguments::{Options, Text, array};
use crate::expression;
use crate::failure::Error;
use crate::namespace;

/// Whether the network stack still sees the packets.
#[repr(u32)]
pub enum tapline_capture_mode {
    /// It does.
    Mirror = 0,
    /// An XDP program takes them from the driver. Requires CAP_BPF, CAP_NET_ADMIN and Linux 5.9.
    Drop = 1,
}

/// When packets are delivered.
#[repr(u32)]
pub enum tapline_delivery {
    /// In batches: when `delivery_bytes` have gathered or `delivery_ns` have passed. Defaults: 1 MiB, 10 ms.
    Batch = 0,
    /// Each packet at once.
    Immediate = 1,
    /// At once while packets are rare; otherwise a packet waits at most `delivery_ns`. Default: 1 ms.
    Adaptive = 2,
}

/// Which packets of an interface are captured.
#[repr(u32)]
pub enum tapline_capture_direction {
    /// Received and sent ones; in drop mode received ones.
    Both = 0,
    /// Received ones.
    In = 1,
    /// Sent ones.
    Out = 2,
}

/// How packets cross from the kernel.
#[repr(u32)]
pub enum tapline_backend {
    /// As suits mode and delivery.
    Auto = 0,
    /// Packet socket with a frame per packet.
    PacketV2 = 1,
    /// Packet socket with many packets in a block.
    PacketV3 = 2,
    /// AF_XDP sockets, in drop mode.
    Xdp = 3,
    /// BPF ring buffers that an XDP program fills.
    XdpRingbuf = 4,
}

/// Where XDP programs may run.
#[repr(u32)]
pub enum tapline_xdp_mode {
    /// In the driver, or else in the stack.
    Auto = 0,
    /// In the driver only.
    Native = 1,
    /// In the stack.
    Generic = 2,
}

/// What to capture, and how.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_capture_options<'a> {
    /// `sizeof(tapline_capture_options)`.
    pub size: usize,
    /// Names of the interfaces; at least one.
    pub interfaces: *const Text<'a>,
    /// Number of the interfaces.
    pub interface_count: usize,
    /// The network namespace of the interfaces: its name below /run/netns, or a path such as /proc/PID/ns/net. Default: that of
    /// the calling thread. Requires CAP_SYS_ADMIN.
    pub netns: Text<'a>,
    /// Packets to capture, in the language of pcap-filter(7). Default: all.
    pub filter: Text<'a>,
    /// Ring size per interface, bytes. Default: 32 MiB.
    pub buffer_bytes: usize,
    /// Bytes to keep of each packet. Default: 262144.
    pub snaplen: u32,
    /// A `tapline_capture_mode`.
    pub mode: u32,
    /// A `tapline_delivery`.
    pub delivery: u32,
    /// A `tapline_capture_direction`.
    pub direction: u32,
    /// See `tapline_delivery`. Must be 0 with `IMMEDIATE`, otherwise INVALID_ARGUMENT.
    pub delivery_ns: u64,
    /// See `tapline_delivery`. Must be 0 with `IMMEDIATE` and `ADAPTIVE`, otherwise INVALID_ARGUMENT.
    pub delivery_bytes: usize,
    /// How long to look for the next packet before sleeping. Default: 0. Must be 0 with
    /// `BATCH`, otherwise INVALID_ARGUMENT.
    pub spin_ns: u64,
    /// End after this many packets. Default: never.
    pub max_packets: u64,
    /// End after this time. Default: never.
    pub max_ns: u64,
    /// A `tapline_backend`.
    pub backend: u32,
    /// A `tapline_xdp_mode`. Must be 0 where no XDP program captures, otherwise INVALID_ARGUMENT: in mirror mode without the
    /// back end `XDP_RINGBUF`.
    pub xdp_mode: u32,
    /// Not 0: do not put the interfaces into promiscuous mode.
    pub no_promiscuous: u32,
    /// Not 0: time stamps of the interface's hardware clock, instead of the kernel's.
    pub hardware_timestamps: u32,
    /// Not 0: also drop the packets that the filter refuses, instead of passing them to the stack. Only in drop mode.
    pub drop_others: u32,
    /// Not 0: measure the delay of each packet: see `tapline_capture_delays`. Costs a clock read per batch. Requires
    /// the kernel's time stamps.
    pub measure_delays: u32,
}

// SAFETY: `repr(C)`, its size first, and integers and strings after it: zeros are the defaults.
unsafe impl Options for tapline_capture_options<'_> {
    const NAME: &'static str = "tapline_capture_options";
}

/// Refuses options that have no effect together with others: who sets them expects one.
fn check_effect(given: &tapline_capture_options<'_>) -> Result<(), Error> {
    const BATCH: u32 = tapline_delivery::Batch as u32;
    const IMMEDIATE: u32 = tapline_delivery::Immediate as u32;
    const ADAPTIVE: u32 = tapline_delivery::Adaptive as u32;
    let without_effect = |field: &str, hint: &str| {
        Err(Error::argument(format!("{field} has no effect with the other options")).hint(hint))
    };
    let is_mirror = given.mode == tapline_capture_mode::Mirror as u32;
    // Which are XDP programs in mirror mode, too.
    let has_program = !is_mirror || given.backend == tapline_backend::XdpRingbuf as u32;
    if is_mirror && given.drop_others != 0 {
        return without_effect("drop_others", "set mode to DROP");
    }
    if !has_program && given.xdp_mode != 0 {
        return without_effect("xdp_mode", "set mode to DROP, or backend to XDP_RINGBUF");
    }
    if given.delivery == IMMEDIATE && given.delivery_ns != 0 {
        return without_effect("delivery_ns", "set delivery to BATCH or ADAPTIVE");
    }
    if matches!(given.delivery, IMMEDIATE | ADAPTIVE) && given.delivery_bytes != 0 {
        return without_effect("delivery_bytes", "set delivery to BATCH");
    }
    if given.delivery == BATCH && given.spin_ns != 0 {
        return without_effect("spin_ns", "set delivery to IMMEDIATE or ADAPTIVE");
    }
    Ok(())
}

fn delivery(given: &tapline_capture_options<'_>) -> Result<DeliveryMode, Error> {
    let duration = |default| match given.delivery_ns {
        0 => default,
        ns => Duration::from_nanos(ns),
    };
    Ok(match given.delivery {
        0 => DeliveryMode::Batch {
            min_bytes: match given.delivery_bytes {
                0 => 1 << 20,
                bytes => bytes,
            },
            timeout: duration(Duration::from_millis(10)),
        },
        1 => DeliveryMode::Immediate,
        2 => DeliveryMode::Adaptive {
            target: duration(Duration::from_millis(1)),
        },
        other => return Err(Error::value("delivery", other)),
    })
}

/// The options of the library.
///
/// # Safety
/// The strings of `given` are those of C.
pub unsafe fn wanted(given: &tapline_capture_options<'_>) -> Result<CaptureOptions, Error> {
    check_effect(given)?;
    // SAFETY: an array of C (promised by the caller).
    let names = unsafe { array(given.interfaces, given.interface_count, "interfaces") }?;
    let mut wanted = CaptureOptions::default();
    for name in names {
        wanted = wanted.interface(name.required("the name of an interface")?);
    }
    if let Some(name) = given.netns.optional("netns")? {
        wanted.namespace = Some(namespace::named_or_at(name)?);
    }
    if let Some(text) = given.filter.optional("filter")? {
        wanted = wanted.with_filter(expression::filter(text)?);
    }
    if given.buffer_bytes > 0 {
        wanted.buffer_bytes = given.buffer_bytes;
    }
    if given.snaplen > 0 {
        wanted.snaplen = given.snaplen;
    }
    wanted.mode = match given.mode {
        0 => Mode::Mirror,
        1 => Mode::Drop,
        other => return Err(Error::value("mode", other)),
    };
    wanted.delivery = delivery(given)?;
    wanted.direction = match given.direction {
        0 => DirectionFilter::Both,
        1 => DirectionFilter::In,
        2 => DirectionFilter::Out,
        other => return Err(Error::value("direction", other)),
    };
    wanted.backend = match given.backend {
        0 => None,
        1 => Some(Backend::PacketV2),
        2 => Some(Backend::PacketV3),
        3 => Some(Backend::Xdp),
        4 => Some(Backend::XdpRingbuf),
        other => return Err(Error::value("backend", other)),
    };
    wanted.xdp = match given.xdp_mode {
        0 => XdpAttachMode::NativeOrGeneric,
        1 => XdpAttachMode::Native,
        2 => XdpAttachMode::Generic,
        other => return Err(Error::value("xdp_mode", other)),
    };
    wanted.spin = Duration::from_nanos(given.spin_ns);
    wanted.limits.packets = (given.max_packets > 0).then_some(given.max_packets);
    wanted.limits.duration = (given.max_ns > 0).then(|| Duration::from_nanos(given.max_ns));
    wanted.promiscuous = given.no_promiscuous == 0;
    if given.hardware_timestamps != 0 {
        if given.measure_delays != 0 {
            let text = "measure_delays requires the kernel's time stamps";
            return Err(Error::argument(text).hint("leave hardware_timestamps at 0"));
        }
        wanted.timestamps = TimestampSource::Hardware;
    }
    if given.drop_others != 0 {
        wanted.others = UnmatchedAction::Drop;
    }
    Ok(wanted)
}
