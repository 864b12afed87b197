//! Packets of all interfaces, with cooked headers: one packet socket without a ring.

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use tapline::filter::classic::{Ancillary, ClassicProgram};
use tapline::packet::metadata::Direction;

use crate::ffi::abi::{ERROR, ERROR_PERM_DENIED, pcap_stat};
use crate::ffi::text::{last_os_error, strerror};
use crate::live::cooked::{Address, MOST_BYTES, Version};
use crate::live::settings::{Refusal, Settings};
use crate::packet::{Packet, Ready};

/// Default size of the socket's buffer, bytes.
const BUFFER_BYTES: c_int = 32 << 20;

/// Packets that may be refused before the reader looks for a request to end, and at the time.
const MOST_REFUSED: u32 = 64;

// linux/if_packet.h
const PACKET_AUXDATA: c_int = 8;
const PACKET_STATISTICS: c_int = 6;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const PACKET_OUTGOING: u8 = 4;

/// `struct tpacket_auxdata`.
#[repr(C)]
#[derive(Clone, Copy)]
struct AuxData {
    status: u32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    vlan_tci: u16,
    vlan_tpid: u16,
}

/// `struct tpacket_stats`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Stats {
    packets: u32,
    drops: u32,
}

/// Room for the control messages of a packet: auxiliary data and a time.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// The socket.
pub struct Any {
    socket: OwnedFd,
    /// The header that packets get.
    pub version: Version,
    /// Longest wait of a call that returns without packets; `None`: no end.
    pub timeout: Option<Duration>,
    /// Packets to deliver; `None`: both.
    pub direction: Option<Direction>,
    /// A packet behind room for its header.
    buffer: Vec<u8>,
    snaplen: usize,
    loopback: u32,
    totals: [u64; 2],
    /// Whether the kernel runs the filter, and every packet that it accepted before has been read.
    is_filtered: bool,
    /// Whether the kernel runs the filter.
    is_in_kernel: bool,
}

impl Any {
    /// Opens the socket.
    pub fn open(settings: &Settings, snaplen: u32) -> Result<Self, Refusal> {
        Self::try_open(settings, snaplen).map_err(|error| Refusal {
            status: match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => ERROR_PERM_DENIED,
                _ => ERROR,
            },
            message: format!("socket: {}", strerror(error.raw_os_error().unwrap_or(0))),
        })
    }

    fn try_open(settings: &Settings, snaplen: u32) -> io::Result<Self> {
        let protocol = match u16::try_from(settings.protocol) {
            Ok(protocol @ 1..) => protocol,
            _ => libc::ETH_P_ALL as u16,
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers are passed.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, c_int::from(protocol.to_be())) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, libc::SOL_PACKET, PACKET_AUXDATA, &1)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        let bytes = match settings.buffer_bytes {
            0 => BUFFER_BYTES,
            bytes => bytes,
        };
        // Without CAP_NET_ADMIN the buffer is at most as large as net.core.rmem_max.
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes)?;
        }
        // SAFETY: a string that lives. The result is 0 if there is no such interface.
        let loopback = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
        Ok(Self {
            socket,
            version: Version::V1,
            timeout: settings.timeout(),
            direction: None,
            buffer: vec![0; MOST_BYTES + snaplen as usize],
            snaplen: snaplen as usize,
            loopback,
            totals: [0; 2],
            is_filtered: true,
            is_in_kernel: true,
        })
    }

    /// Readable when packets are ready.
    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The next packet that passes `filter`, if one is ready.
    pub fn ready(&mut self, filter: Option<&ClassicProgram>) -> Result<Ready, String> {
        for _ in 0..MOST_REFUSED {
            let (received, length, address, time_ns) = match self.receive() {
                Ok(received) => received,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => {
                        self.is_filtered = self.is_in_kernel;
                        return Ok(Ready::Nothing);
                    }
                    // The kernel reports an error before the packets that are queued.
                    Some(libc::EINTR | libc::ENETDOWN) => continue,
                    _ => return Err(format!("recvmsg: {error}")),
                },
            };
            if self.is_unwanted(&address) {
                continue;
            }
            let end = MOST_BYTES + received.min(self.buffer.len() - MOST_BYTES);
            if let (false, Some(filter)) = (self.is_filtered, filter) {
                // As in the kernel, the tag is not among the bytes that the filter sees.
                let untagged = Address {
                    vlan: None,
                    ..address
                };
                let start = self.write_header(&untagged);
                let len = length.saturating_add((MOST_BYTES - start) as u32);
                if !accepts(filter, &self.buffer[start..end], len, &address) {
                    continue;
                }
            }
            let start = self.write_header(&address);
            let bytes = &self.buffer[start..end];
            let len = length.saturating_add((MOST_BYTES - start) as u32);
            return Ok(Ready::Packet(Packet {
                data: bytes.as_ptr(),
                captured: bytes.len().min(self.snaplen) as u32,
                len,
                time_ns,
                carried_s: 0,
            }));
        }
        Ok(Ready::Refused)
    }

    /// Whether the direction of a packet is not to be delivered.
    fn is_unwanted(&self, address: &Address) -> bool {
        let is_sent = address.packet_type == PACKET_OUTGOING;
        match self.direction {
            // On loopback each packet is both sent and received; only the latter counts.
            _ if is_sent && address.index == self.loopback => true,
            None => false,
            Some(Direction::In) => is_sent,
            Some(Direction::Out) => !is_sent,
        }
    }

    /// Writes the header in front of the packet in the buffer. Returns where it begins.
    fn write_header(&mut self, address: &Address) -> usize {
        let room = self.buffer.first_chunk_mut();
        let room = room.unwrap_or_else(|| unreachable!("made for it"));
        self.version.write(room, address)
    }

    /// Bytes that the filter has left of the next packet, its length on the wire, both without the link-layer header, its
    /// address and its time.
    fn receive(&mut self) -> io::Result<(usize, u32, Address, u64)> {
        let mut control = Control([0; 128]);
        let mut name = MaybeUninit::<libc::sockaddr_ll>::zeroed();
        let room = &mut self.buffer[MOST_BYTES..];
        let mut part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // SAFETY: a struct of pointers and integers.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_name = name.as_mut_ptr().cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len();
        // SAFETY: the message names memory that lives, with its sizes.
        let received =
            unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_TRUNC) };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: zeroed, and the kernel may have written to it; any bytes are valid.
        let name = unsafe { name.assume_init() };
        let mut address = Address {
            protocol: u16::from_be(name.sll_protocol),
            index: name.sll_ifindex.cast_unsigned(),
            hardware: name.sll_hatype,
            packet_type: name.sll_pkttype,
            length: name.sll_halen,
            sender: name.sll_addr,
            vlan: None,
        };
        let mut time_ns = 0;
        let mut length = received as u32;
        // SAFETY: the kernel has filled the control messages of `message`.
        let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        while !header.is_null() {
            // SAFETY: a control message inside the buffer.
            let message_of = unsafe { header.read() };
            // SAFETY: as above.
            let data: *const c_void = unsafe { libc::CMSG_DATA(header) }.cast();
            match (message_of.cmsg_level, message_of.cmsg_type) {
                (libc::SOL_PACKET, PACKET_AUXDATA) => {
                    // SAFETY: the kernel writes this struct.
                    let aux = unsafe { data.cast::<AuxData>().read_unaligned() };
                    let has = |bit| aux.status & bit != 0;
                    length = aux.len;
                    let tpid = has(TP_STATUS_VLAN_TPID_VALID).then_some(aux.vlan_tpid);
                    address.vlan = has(TP_STATUS_VLAN_VALID).then_some((aux.vlan_tci, tpid));
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    // SAFETY: the kernel writes this struct.
                    let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                    time_ns =
                        time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned();
                }
                _ => {}
            }
            // SAFETY: a control message of `message`.
            header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
        }
        Ok((received, length, address, time_ns))
    }

    /// Has the kernel run the filter, if it can. Packets that it has accepted before are filtered when they are read.
    pub fn set_filter(&mut self, program: &ClassicProgram) {
        let moved = self.version.without_header(program);
        self.is_filtered = false;
        self.is_in_kernel = moved.is_some_and(|program| self.attach(&program).is_ok());
        if !self.is_in_kernel {
            let everything = ClassicProgram::keep(u32::MAX);
            // A filter before stays if there is no memory for one instruction.
            let _ = self.attach(&everything);
        }
    }

    fn attach(&self, program: &ClassicProgram) -> io::Result<()> {
        let instructions = program.instructions().iter();
        let mut code: Vec<_> = instructions
            .map(|i| libc::sock_filter {
                code: i.code,
                jt: i.jt,
                jf: i.jf,
                k: i.k,
            })
            .collect();
        let program = libc::sock_fprog {
            len: u16::try_from(code.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
            filter: code.as_mut_ptr(),
        };
        set(
            &self.socket,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            &program,
        )
    }

    /// The counters as libpcap defines them. They wrap at 32 bits, as its do.
    pub fn statistics(&mut self) -> Result<pcap_stat, String> {
        let mut stats = Stats::default();
        let mut bytes = size_of::<Stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `bytes` bytes, the size of the place.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut bytes,
            )
        };
        if result != 0 {
            return Err(last_os_error());
        }
        self.totals[0] += u64::from(stats.packets);
        self.totals[1] += u64::from(stats.drops);
        Ok(pcap_stat {
            ps_recv: self.totals[0] as c_uint,
            ps_drop: self.totals[1] as c_uint,
            ps_ifdrop: 0,
        })
    }
}

fn accepts(filter: &ClassicProgram, bytes: &[u8], len: u32, address: &Address) -> bool {
    let ancillary = Ancillary {
        packet_type: Some(address.packet_type),
        interface_index: Some(address.index),
        queue: None,
        vlan_tag: address.vlan.map(|(tag, _)| tag),
    };
    filter.run_with(bytes, len, &ancillary) != 0
}

fn set<T>(socket: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let place: *const c_void = ptr::from_ref(value).cast();
    let bytes = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value lives, and its size is the one passed.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, place, bytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
