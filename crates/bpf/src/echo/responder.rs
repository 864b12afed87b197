//! The responder: its maps, and the program on an interface.

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use abi::bpf::{MapLayout, MapType};

use super::respond::{self, COUNTERS, Counter};
use crate::capture::XdpProgramError;
use crate::map::{Counters, Map, MapError};
use crate::program::{Program, ProgramKind};
use crate::xdp::{XdpAttachMode, XdpLink, XdpMode};

const NAME: &str = "tapline_echo";

/// Bytes of the value with the MAC address.
const MAC_BYTES: u32 = 8;

/// Most prefixes of own addresses for a family.
const MAX_PREFIXES: u32 = 1 << 16;

/// What an [`EchoResponder`] answers, and how.
#[derive(Clone, Copy, Debug)]
pub struct EchoResponderOptions {
    /// The interface's own MAC address. Frames to others are passed on.
    pub mac: [u8; 6],
    /// TTL of IPv4 replies (`net.ipv4.ip_default_ttl`).
    pub ttl: u8,
    /// Hop limit of IPv6 replies (`net.ipv6.conf.IF.hop_limit`).
    pub hop_limit: u8,
    /// Most answers per second, 1 to 1 000 000 000; `None` sets no limit. After a pause 256 may leave at once, but at most those of
    /// 250 ms and at least those of 10 ms.
    pub rate_pps: Option<u32>,
    /// Where the program runs.
    pub mode: XdpAttachMode,
}

/// Frames that the program has seen, by what it did with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EchoAnswerCounts {
    /// Echo requests that were answered. The driver may still have dropped the answer.
    pub answered: u64,
    /// Echo requests above the limit, which were dropped.
    pub limited: u64,
    /// Echo requests with a wrong checksum, passed to the network stack.
    pub damaged: u64,
    /// Other frames, passed to the network stack.
    pub passed: u64,
}

/// An XDP program that answers ICMP and ICMPv6 echo requests to own addresses. Dropping it, or the end of the process,
/// detaches the program.
///
/// A reply equals that of the kernel except for the identification of IPv4 and the flow label of IPv6, which stays.
/// It leaves on the same interface to the MAC address that the request came from. Passed to the network stack are
/// fragments, packets with IP options, extension headers or VLAN tags, frames to groups, and messages above 4096 bytes.
/// Reverse-path filters, netfilter and `icmp_echo_ignore_all` do not apply to requests that the program answers.
#[derive(Debug)]
pub struct EchoResponder {
    link: XdpLink,
    counters: Counters<COUNTERS>,
    mac: Map,
    /// Own addresses, IPv4 and IPv6: the program finds the longest prefix.
    tries: [abi::bpf::Map; 2],
    local: HashSet<(IpAddr, u8)>,
}

impl EchoResponder {
    /// Attaches the program to interface `ifindex` of the calling thread's network namespace. It answers nothing before
    /// [`set_local`](Self::set_local).
    ///
    /// # Errors
    /// [`XdpProgramError`], e.g. EPERM, or EBUSY if another program is attached.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.18 (multi-buffer frames).
    pub fn attach(ifindex: u32, options: &EchoResponderOptions) -> Result<Self, XdpProgramError> {
        let counters = Counters::create(NAME)?;
        let used_until = Map::value(NAME, 8)?;
        let mac = Map::value(NAME, MAC_BYTES)?;
        write_mac(&mac, options.mac).map_err(MapError::creating(NAME, MapType::Array))?;
        let tries = [trie(4)?, trie(16)?];
        let program = respond::Program {
            mac: mac.as_fd(),
            ttl: options.ttl,
            hop_limit: options.hop_limit,
            answer_ns: options.rate_pps.map(|pps| 1_000_000_000 / pps.max(1)),
            counters: counters.as_fd(),
            used_until: used_until.as_fd(),
            local: [tries[0].as_fd(), tries[1].as_fd()],
        };
        let program = Program::load(ProgramKind::XdpFrags, NAME, &program.code())?;
        let link = XdpLink::attach(&program, ifindex, options.mode)?;
        Ok(Self {
            link,
            counters,
            mac,
            tries,
            local: HashSet::new(),
        })
    }

    /// Answers frames to this MAC address from now on: that of the interface has changed.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_UPDATE_ELEM`; none is known.
    pub fn set_mac(&self, mac: [u8; 6]) -> io::Result<()> {
        write_mac(&self.mac, mac)
    }

    /// Answers requests to these prefixes and no others. Each has an address and a length in bits.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_UPDATE_ELEM`: ENOSPC above 65 536 prefixes of a family. Some of the changes have been made then; a
    /// later call makes the others.
    pub fn set_local(
        &mut self,
        prefixes: impl IntoIterator<Item = (IpAddr, u8)>,
    ) -> io::Result<()> {
        let wanted: HashSet<(IpAddr, u8)> = prefixes.into_iter().collect();
        let gone: Vec<_> = self.local.difference(&wanted).copied().collect();
        for prefix in gone {
            let (trie, key) = self.place(prefix);
            trie.delete(&key)?;
            self.local.remove(&prefix);
        }
        for new in wanted {
            if !self.local.contains(&new) {
                let (trie, key) = self.place(new);
                trie.update(&key, &[1, 0, 0, 0])?;
                self.local.insert(new);
            }
        }
        Ok(())
    }

    /// The trie of a prefix and its key there.
    fn place(&self, (address, bits): (IpAddr, u8)) -> (&abi::bpf::Map, Vec<u8>) {
        let mut key = u32::from(bits).to_ne_bytes().to_vec();
        match address {
            IpAddr::V4(address) => {
                key.extend(address.octets());
                (&self.tries[0], key)
            }
            IpAddr::V6(address) => {
                key.extend(address.octets());
                (&self.tries[1], key)
            }
        }
    }

    /// What the program did so far.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_ELEM`; none is known.
    pub fn counts(&self) -> io::Result<EchoAnswerCounts> {
        let counts = self.counters.read()?;
        let of = |counter: Counter| counts[counter as usize];
        Ok(EchoAnswerCounts {
            answered: of(Counter::Answered),
            limited: of(Counter::Limited),
            damaged: of(Counter::Damaged),
            passed: of(Counter::Passed),
        })
    }

    /// Where the program runs.
    pub fn mode(&self) -> XdpMode {
        self.link.mode()
    }
}

fn write_mac(map: &Map, mac: [u8; 6]) -> io::Result<()> {
    let mut value = [0; MAC_BYTES as usize];
    value[..mac.len()].copy_from_slice(&mac);
    map.write(&value)
}

fn trie(address_bytes: u32) -> Result<abi::bpf::Map, MapError> {
    let layout = MapLayout {
        map_type: MapType::LpmTrie,
        key_bytes: 4 + address_bytes,
        value_bytes: 4,
        max_entries: MAX_PREFIXES,
    };
    abi::bpf::Map::create(&layout, NAME).map_err(MapError::creating(NAME, MapType::LpmTrie))
}
