//! Packets of one interface: a capture of `tapline`, read from the program's thread alone.

use std::ffi::{c_int, c_uint};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tapline::capture::{
    Account, Backend, Capture, CaptureError, CaptureErrorKind, CaptureOptions, DeliveryMode, Ended,
    RingCounters, TimestampSource,
};
use tapline::filter::classic::ClassicProgram;
use tapline::packet::metadata::Direction;

use crate::datalinks;
use crate::ffi::abi::{
    ERROR, ERROR_IFACE_NOT_UP, ERROR_NO_SUCH_DEVICE, ERROR_PERM_DENIED, WARNING_TSTAMP_TYPE_NOTSUP,
    pcap_stat,
};
use crate::ffi::text::{chain, strerror};
use crate::live::adapter::{ADAPTER_UNSYNCED, HOST, largest_packet};
use crate::live::settings::{Refusal, Settings};
use crate::packet::{Packet, Ready};

/// Longest time that a packet waits for a reader that sleeps. TPACKET_V3 has no shorter timer.
const TARGET: Duration = Duration::from_millis(1);

/// The smallest ring that is worth a try, bytes: libpcap's default.
const SMALLEST_RING: usize = 2 << 20;

/// A ring that is not enlarged for rounding, bytes. The kernel's limit is 4 GiB.
const LARGE_RING: usize = 1 << 30;

/// How long packets are queued at high rates: a wake-up then brings thousands.
const BATCH_TIME: Duration = Duration::from_millis(3);

/// Packets of a burst that is worth it: some ten thousand packets a second.
const DENSE: u32 = 64;

/// Packets that were read since the reader slept.
#[derive(Clone, Copy, Default)]
struct Burst {
    packets: u32,
    bytes: usize,
}

/// An open capture of one interface.
pub struct Live {
    capture: Capture,
    /// The account as of the last query.
    last: (Account, RingCounters),
    /// Name of the interface.
    pub device: String,
    /// Longest wait of a call that returns without packets; `None`: no end.
    pub timeout: Option<Duration>,
    /// Packets to deliver; `None`: both.
    pub direction: Option<Direction>,
    /// Whether the batch at hand may have more packets.
    is_in_batch: bool,
    /// Packets and bytes since the last [`batch_time`](Self::batch_time).
    burst: Burst,
    /// Size of the ring, bytes; 0 in immediate mode, where nothing is queued.
    ring_bytes: usize,
    /// The interface's counter of FIFO overflows at the start, in promiscuous mode; `None` if it is not known.
    fifo_errors: Option<u64>,
    is_promiscuous: bool,
}

impl Live {
    /// Opens the interface. Also returns a warning, or 0: the host stamps packets that the adapter cannot stamp.
    pub fn open(settings: &Settings, device: &str, snaplen: u32) -> Result<(Self, c_int), Refusal> {
        let mut options = tapline::capture(device)
            .threads(false)
            .outlast_link_down(true)
            .promiscuous(settings.is_promiscuous)
            .snaplen(snaplen)
            .delivery(DeliveryMode::Adaptive { target: TARGET })
            // A wake-up for each block, also where the snaplen is short: the program sleeps in poll(2) and not in the reader,
            // which would leave packets in the ring.
            .backend(Backend::PacketV3);
        if settings.is_immediate {
            options = options
                .delivery(DeliveryMode::Immediate)
                .backend(Backend::PacketV2)
                // Each packet has a frame of this size: the smaller, the more packets the ring holds.
                .snaplen(snaplen.min(largest_packet(device)));
        }
        if settings.timestamp_type != HOST {
            options = options
                .timestamps(TimestampSource::Hardware)
                .device_time(settings.timestamp_type == ADAPTER_UNSYNCED);
        }
        if let Ok(bytes @ 1..) = usize::try_from(settings.buffer_bytes) {
            options = options.buffer_bytes(if settings.is_immediate {
                room_for_frames(bytes)
            } else {
                bytes
            });
        }
        let mut warning = 0;
        let opened = match open_smaller(&options) {
            Err(CaptureError::HardwareTimestamps(error)) if error.is_unsupported() => {
                warning = WARNING_TSTAMP_TYPE_NOTSUP;
                open_smaller(&options.timestamps(TimestampSource::Kernel))
            }
            opened => opened,
        };
        let (capture, ring_bytes) = opened.map_err(|error| refusal(&error))?;
        let live = Self {
            capture,
            last: (std::iter::empty::<Account>().sum(), RingCounters::default()),
            device: device.to_owned(),
            timeout: settings.timeout(),
            direction: None,
            is_in_batch: false,
            burst: Burst::default(),
            ring_bytes: if settings.is_immediate { 0 } else { ring_bytes },
            fifo_errors: fifo_errors(&statistics_of(device)).filter(|_| settings.is_promiscuous),
            is_promiscuous: settings.is_promiscuous,
        };
        Ok((live, warning))
    }

    /// Its link-layer header type, `DLT_…`.
    pub fn datalink(&self) -> c_int {
        let described = self.capture.interfaces().first();
        described.map_or(datalinks::EN10MB, |described| {
            datalinks::from_file(described.link_type.0)
        })
    }

    /// Readable when packets are ready, and for good once the interface is gone.
    pub fn descriptor(&self) -> RawFd {
        self.capture.as_fd().as_raw_fd()
    }

    /// Whether the interface is down. Its removal does not make the descriptor readable.
    pub fn is_down(&self) -> bool {
        self.capture.has_down_link()
    }

    /// The next packet, if one is ready.
    #[inline]
    pub fn ready(&mut self) -> Result<Ready, String> {
        if !self.is_in_batch {
            let batch = self.capture.next_batch(Duration::ZERO);
            match batch.map_err(|error| chain(&error))? {
                Some(_) => self.is_in_batch = true,
                None => return Err(self.end()),
            }
        }
        if let Some(packet) = self.next_in_batch() {
            return Ok(Ready::Packet(packet));
        }
        Ok(Ready::Nothing)
    }

    /// The next packet of the batch at hand.
    #[inline]
    pub fn next_in_batch(&mut self) -> Option<Packet> {
        if !self.is_in_batch {
            return None;
        }
        while let Some(packet) = self.capture.next_ready() {
            let data = packet.data();
            self.burst.packets = self.burst.packets.saturating_add(1);
            self.burst.bytes += data.len();
            if self.direction.is_some() && packet.direction() != self.direction {
                continue;
            }
            return Some(Packet {
                data: data.as_ptr(),
                captured: data.len() as u32,
                len: packet.len() as u32,
                time_ns: packet.time().as_nanos().unwrap_or(0),
                carried_s: 0,
            });
        }
        self.is_in_batch = false;
        None
    }

    /// How long packets may be queued before the reader looks at the ring again, after a burst; `None` at low rates, and
    /// where the ring could fill meanwhile.
    pub fn batch_time(&mut self) -> Option<Duration> {
        let burst = std::mem::take(&mut self.burst);
        let has_room = burst.bytes < self.ring_bytes / 32;
        (burst.packets >= DENSE && has_room).then_some(BATCH_TIME)
    }

    /// Why the capture ended.
    #[cold]
    fn end(&self) -> String {
        match self.capture.ended() {
            Some(Ended::Wait(error)) => format!("can't wait for packets: {error}"),
            _ => "The interface disappeared".to_owned(),
        }
    }

    /// Replaces the filter.
    pub fn set_filter(&mut self, program: &ClassicProgram) -> Result<(), String> {
        let replaced = self.capture.replace_filter(program);
        replaced.map_err(|error| chain(&error))
    }

    /// Sends a frame.
    pub fn send(&self, frame: &[u8]) -> Result<(), String> {
        let sent = self.capture.send(frame);
        sent.map_err(|error| match error.raw_os_error() {
            Some(number) => format!("send: {}", strerror(number)),
            None => format!("send: {error}"),
        })
    }

    /// The counters as libpcap defines them. They wrap at 32 bits, as its do.
    pub fn statistics(&mut self) -> pcap_stat {
        let (account, rings) = self.account();
        let missed = account.lost.nic.filter(|_| self.is_promiscuous);
        let now = (self.fifo_errors).and_then(|_| fifo_errors(&statistics_of(&self.device)));
        pcap_stat {
            ps_recv: rings.accepted as c_uint,
            ps_drop: rings.dropped as c_uint,
            ps_ifdrop: dropped_by_interface(missed, self.fifo_errors, now) as c_uint,
        }
    }

    /// Packets in the ring, as of the last [`account`](Self::account).
    pub fn waiting(&self) -> u64 {
        self.capture.waiting()
    }

    /// The whole account, and the counters of the ring.
    pub fn account(&mut self) -> (Account, RingCounters) {
        let rings = self.capture.ring_counters();
        let accounts = self.capture.live().accounts();
        if let Some(live) = accounts.into_iter().next() {
            self.last = (live.account, rings);
        }
        self.last
    }
}

/// The kernel's folder with the counters of an interface.
fn statistics_of(device: &str) -> PathBuf {
    let folder = Path::new("/sys/class/net").join(device);
    folder.join("statistics")
}

/// Overflows of the interface's receive FIFO. The account has none: drivers may count several packets as one.
fn fifo_errors(statistics: &Path) -> Option<u64> {
    let text = fs::read_to_string(statistics.join("rx_fifo_errors"));
    text.ok()?.trim().parse().ok()
}

/// What libpcap counts as dropped by the interface: missed packets and FIFO overflows. What is not known counts as 0.
///
/// # Source
/// `linux_if_drops`, pcap-linux.c of libpcap 1.10.
fn dropped_by_interface(missed: Option<u64>, start: Option<u64>, now: Option<u64>) -> u64 {
    let overflows = start
        .zip(now)
        .map_or(0, |(start, now)| now.saturating_sub(start));
    missed.unwrap_or(0) + overflows
}

/// Size of a ring in immediate mode that holds as many packets as libpcap's of `bytes` bytes. Frames have powers of two here; there
/// they have the size of packets, and what is left over of a block comes on top of the ring's size.
fn room_for_frames(bytes: usize) -> usize {
    (bytes / 2).saturating_mul(5).min(bytes.max(LARGE_RING))
}

/// Opens a capture, with a smaller ring if there is no memory for the one of the options. Also returns its size.
fn open_smaller(options: &CaptureOptions) -> Result<(Capture, usize), CaptureError> {
    let mut bytes = options.buffer_bytes;
    loop {
        match options.clone().buffer_bytes(bytes).open() {
            Err(error) if is_memory(&error) && bytes > SMALLEST_RING => bytes /= 2,
            opened => return opened.map(|capture| (capture, bytes)),
        }
    }
}

fn is_memory(error: &CaptureError) -> bool {
    use CaptureErrorKind as Kind;
    matches!(error.kind(), Kind::NoMemoryForRing | Kind::NoMemoryForStall)
}

const STAMPS_REFUSED: &str =
    "Attempt to set hardware timestamp failed - CAP_NET_ADMIN may be required";

fn refusal(error: &CaptureError) -> Refusal {
    let status = match error.kind() {
        CaptureErrorKind::NoSuchInterface => ERROR_NO_SUCH_DEVICE,
        CaptureErrorKind::MissingPrivilege { .. } => ERROR_PERM_DENIED,
        CaptureErrorKind::InterfaceDown => ERROR_IFACE_NOT_UP,
        _ => ERROR,
    };
    match status {
        // Programs show libpcap's text beside the interface's name.
        ERROR_NO_SUCH_DEVICE | ERROR_IFACE_NOT_UP => Refusal::of(status),
        ERROR_PERM_DENIED if matches!(error, CaptureError::HardwareTimestamps(_)) => Refusal {
            status,
            message: STAMPS_REFUSED.to_owned(),
        },
        ERROR_PERM_DENIED => Refusal {
            status,
            message: format!("socket: {}", strerror(libc::EPERM)),
        },
        _ => Refusal {
            status,
            message: chain(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is as the kernel writes it.
    #[test]
    fn drops_of_the_interface_are_missed_packets_and_fifo_overflows() {
        let folder = tempfile::tempdir().expect("a folder");
        let overflows = || fifo_errors(folder.path());
        assert_eq!(overflows(), None);
        fs::write(folder.path().join("rx_fifo_errors"), "7\n").expect("a file");
        let start = overflows();
        fs::write(folder.path().join("rx_fifo_errors"), "12\n").expect("a file");
        assert_eq!(dropped_by_interface(Some(4), start, overflows()), 9);
        assert_eq!(dropped_by_interface(None, start, overflows()), 5);
        assert_eq!(dropped_by_interface(Some(4), None, overflows()), 4);
        assert_eq!(dropped_by_interface(None, start, None), 0);
    }
}
