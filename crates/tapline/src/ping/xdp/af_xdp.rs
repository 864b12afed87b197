//! The second way for requests: frames that are made and stamped here, and leave by an AF_XDP socket.

use std::io;
use std::net::IpAddr;

use abi::clock::monotonic_ns;
use netlink::MacAddress;
use probe::{COOKIE_BYTES, Probe, Prober};
use ring::{XdpSendOptions, XdpSender, XdpSetupError};
use wire::checksum::{Sum, internet};
use wire::protocol::ip;

use super::requests::VlanTag;
use crate::send::open_sender;

/// Frames that are handed to the kernel in one call: the last one is stamped some hundred nanoseconds before it leaves, the
/// first one as much earlier as the kernel takes to send those behind it.
const BATCH: usize = 16;

const ETHERNET: usize = 14;
const ECHO: usize = 8;

/// The requests of both families, and the socket.
///
/// It copies: the kernel then sends within the call, so that a stamp before it is close to the departure, and the interface
/// goes on receiving.
#[derive(Debug)]
pub(super) struct FrameSender {
    sender: XdpSender,
    frames: [Option<Vec<u8>>; 2],
    /// Offset of the IP header.
    ip: usize,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestAddresses {
    /// Of the next hop.
    pub mac: MacAddress,
    pub source: IpAddr,
    pub target: IpAddr,
}

impl FrameSender {
    /// Opens it on interface `ifindex`, called `link`; `frames` are requests over IPv4 and IPv6.
    pub fn open(
        ifindex: u32,
        link: &str,
        frames: [Option<Vec<u8>>; 2],
        tag: Option<VlanTag>,
    ) -> Result<Self, XdpSetupError> {
        let options = XdpSendOptions {
            queue: 0,
            zero_copy: false,
            longest: frames.iter().flatten().map(Vec::len).max().unwrap_or(0),
            has_launch_times: false,
        };
        Ok(Self {
            sender: open_sender(ifindex, link, &options)?,
            frames,
            ip: ETHERNET + tag.map_or(0, |_| usize::from(VlanTag::BYTES)),
        })
    }

    /// Sends the first of `probes`, and returns how many were taken. `addresses` are those of the
    /// request to a target.
    /// Those that the kernel does not take wait; the next call stamps them again, and has to be for the same probes.
    ///
    /// # Errors
    /// As [`XdpSender::transmit`], if none was taken.
    pub fn send(
        &mut self,
        is_ipv6: bool,
        probes: impl Iterator<Item = Probe>,
        prober: &Prober,
        start_ns: u64,
        addresses: impl Fn(u32) -> Option<RequestAddresses>,
    ) -> io::Result<usize> {
        let Some(frame) = &mut self.frames[usize::from(is_ipv6)] else {
            return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
        };
        let waiting = self.sender.waiting();
        for (ready, probe) in probes.take(BATCH.max(waiting)).enumerate() {
            let Some(addresses) = addresses(probe.target) else {
                break;
            };
            let sent_ns = monotonic_ns().saturating_sub(start_ns);
            let cookie = prober.cookie(probe, sent_ns);
            write(frame, self.ip, probe, addresses, &cookie);
            let is_ready = if ready < waiting {
                self.sender.replace(ready, frame)
            } else {
                self.sender.push(frame)
            };
            if !is_ready {
                break;
            }
        }
        let mut sent = 0;
        // Each call takes at least one, or ends this.
        while self.sender.waiting() > 0 {
            match self.sender.transmit() {
                Ok(taken) => sent += taken,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => break,
            }
        }
        match sent {
            0 => Err(io::Error::from_raw_os_error(libc::ENOBUFS)),
            sent => Ok(sent),
        }
    }

    /// Sets the source MAC address, also of the requests that wait.
    pub fn set_mac(&mut self, mac: MacAddress) {
        for frame in self.frames.iter_mut().flatten() {
            frame[6..12].copy_from_slice(&mac.0);
        }
    }

    /// Gives up the requests that wait.
    pub fn cancel(&mut self) {
        self.sender.cancel();
    }
}

/// Writes what is different in the request of `probe` into `frame`, whose IP header is at `ip`.
fn write(
    frame: &mut [u8],
    ip: usize,
    probe: Probe,
    addresses: RequestAddresses,
    cookie: &[u8; COOKIE_BYTES],
) {
    frame[..6].copy_from_slice(&addresses.mac.0);
    let header = &mut frame[ip..];
    write_address(header, addresses.source, [12, 8]);
    write_address(header, addresses.target, [16, 24]);
    let (icmp, end) = match addresses.target {
        IpAddr::V4(_) => {
            header[10..12].fill(0);
            let sum = internet(&header[..20]);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            (20, usize::from(u16::from_be_bytes([header[2], header[3]])))
        }
        IpAddr::V6(_) => (
            40,
            40 + usize::from(u16::from_be_bytes([header[4], header[5]])),
        ),
    };
    let (before, message) = header[..end].split_at_mut(icmp);
    message[2..4].fill(0);
    message[6..8].copy_from_slice(&probe.sequence().to_be_bytes());
    message[ECHO..ECHO + COOKIE_BYTES].copy_from_slice(cookie);
    let sum = match addresses.target {
        IpAddr::V4(_) => Sum::new(),
        // The two addresses of the pseudo header, then length and protocol.
        IpAddr::V6(_) => Sum::new()
            .bytes(&before[8..40])
            .number(message.len() as u32)
            .number(ip::ICMPV6.into()),
    };
    let sum = sum.bytes(message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
}

/// Writes an address to its offset in the header of its family.
fn write_address(header: &mut [u8], address: IpAddr, [ipv4, ipv6]: [usize; 2]) {
    match address {
        IpAddr::V4(address) => header[ipv4..ipv4 + 4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => header[ipv6..ipv6 + 16].copy_from_slice(&address.octets()),
    }
}
