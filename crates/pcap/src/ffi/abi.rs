//! The structs and numbers that programs were compiled with.
//!
//! # Source
//! `pcap/pcap.h`, `pcap/bpf.h` and `pcap/namedb.h` of libpcap 1.10.

use std::ffi::{c_char, c_int, c_uchar, c_uint};

/// Bytes of an error buffer.
pub const ERRBUF_BYTES: usize = 256;

/// The longest snaplen, and the default.
pub const MAX_SNAPLEN: c_int = 262_144;

/// Failed; the error text says why.
pub const ERROR: c_int = -1;
/// `pcap_breakloop` ended the loop.
pub const ERROR_BREAK: c_int = -2;
/// The handle is not activated.
pub const ERROR_NOT_ACTIVATED: c_int = -3;
/// The handle is activated already.
pub const ERROR_ACTIVATED: c_int = -4;
/// There is no such interface.
pub const ERROR_NO_SUCH_DEVICE: c_int = -5;
/// The interface has no monitor mode.
pub const ERROR_RFMON_NOTSUP: c_int = -6;
/// Missing privilege.
pub const ERROR_PERM_DENIED: c_int = -8;
/// The interface is down.
pub const ERROR_IFACE_NOT_UP: c_int = -9;
/// The precision of time stamps is not supported.
pub const ERROR_TSTAMP_PRECISION_NOTSUP: c_int = -12;
/// Warning: the source of time stamps is not supported.
pub const WARNING_TSTAMP_TYPE_NOTSUP: c_int = 3;

/// The netmask is not known.
pub const NETMASK_UNKNOWN: u32 = 0xffff_ffff;

/// Time stamps in microseconds.
pub const PRECISION_MICRO: c_int = 0;
/// Time stamps in nanoseconds.
pub const PRECISION_NANO: c_int = 1;

/// Header of a packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pcap_pkthdr {
    /// Time stamp; `tv_usec` is in nanoseconds if the handle has that precision.
    pub ts: libc::timeval,
    /// Bytes that are there.
    pub caplen: u32,
    /// Bytes on the wire.
    pub len: u32,
}

impl pcap_pkthdr {
    /// A header of nothing.
    pub const EMPTY: Self = Self {
        ts: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        caplen: 0,
        len: 0,
    };
}

/// An instruction of classic BPF.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bpf_insn {
    /// Operation.
    pub code: u16,
    /// Jump if true.
    pub jt: u8,
    /// Jump if false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// A program of classic BPF. `bf_insns` is from malloc(3).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bpf_program {
    /// Number of instructions.
    pub bf_len: c_uint,
    /// The instructions.
    pub bf_insns: *mut bpf_insn,
}

/// Counters of a capture.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pcap_stat {
    /// Packets that passed the filter, dropped ones included.
    pub ps_recv: c_uint,
    /// Packets dropped because the ring was full.
    pub ps_drop: c_uint,
    /// Packets dropped by the interface.
    pub ps_ifdrop: c_uint,
}

/// An interface of `pcap_findalldevs`.
#[repr(C)]
#[derive(Debug)]
pub struct pcap_if {
    /// The next one.
    pub next: *mut Self,
    /// Its name.
    pub name: *mut c_char,
    /// Text, or null.
    pub description: *mut c_char,
    /// Its addresses.
    pub addresses: *mut pcap_addr,
    /// `PCAP_IF_…`.
    pub flags: u32,
}

/// An address of an interface.
#[repr(C)]
#[derive(Debug)]
pub struct pcap_addr {
    /// The next one.
    pub next: *mut Self,
    /// The address.
    pub addr: *mut libc::sockaddr,
    /// Its netmask, or null.
    pub netmask: *mut libc::sockaddr,
    /// Its broadcast address, or null.
    pub broadaddr: *mut libc::sockaddr,
    /// The other end of a point-to-point link, or null.
    pub dstaddr: *mut libc::sockaddr,
}

/// The caller's function for packets. Its exceptions pass to the caller.
pub type pcap_handler =
    unsafe extern "C-unwind" fn(*mut c_uchar, *const pcap_pkthdr, *const c_uchar);
