//! The fixed part of a group in messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Mdb, MdbFlags, MdbGroup, MdbState};
use crate::codec::{Malformed, split};
use crate::interface::{IfIndex, MacAddress};

/// Length of `struct br_mdb_entry`, which ends in two bytes of nothing.
pub(super) const ENTRY_BYTES: usize = 28;
/// EtherTypes by which the entry says what its group is; 0 is a hardware address.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl Mdb {
    pub(super) fn emit_entry(&self, group: MdbGroup) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.port.unwrap_or_default().0.to_ne_bytes());
        bytes[4] = self.state.unwrap_or(MdbState::Temporary).into();
        bytes[6..8].copy_from_slice(&self.vid.unwrap_or(0).to_ne_bytes());
        let protocol = match group {
            MdbGroup::Ip(IpAddr::V4(ip)) => {
                bytes[8..12].copy_from_slice(&ip.octets());
                IPV4
            }
            MdbGroup::Ip(IpAddr::V6(ip)) => {
                bytes[8..24].copy_from_slice(&ip.octets());
                IPV6
            }
            MdbGroup::Mac(mac) => {
                bytes[8..14].copy_from_slice(&mac.0);
                0
            }
        };
        bytes[24..26].copy_from_slice(&protocol.to_be_bytes());
        bytes
    }

    /// Reads the entry at the beginning of `bytes`, which begin `at` bytes into the message's body, and
    /// returns what follows.
    pub(super) fn read_entry(
        dev: IfIndex,
        at: usize,
        bytes: &[u8],
    ) -> Result<(Self, &[u8]), Malformed> {
        let (entry, rest) = split::<ENTRY_BYTES>("multicast group", at, bytes)?;
        let [p0, p1, p2, p3, state, flags, v0, v1, group @ ..] = *entry;
        let [.., e0, e1, _, _] = group;
        let group = match u16::from_be_bytes([e0, e1]) {
            IPV4 => {
                let (ip, _) = split::<4>("multicast group", at, &group)?;
                MdbGroup::Ip(Ipv4Addr::from(*ip).into())
            }
            IPV6 => {
                let (ip, _) = split::<16>("multicast group", at, &group)?;
                MdbGroup::Ip(Ipv6Addr::from(*ip).into())
            }
            _ => {
                let (mac, _) = split::<6>("multicast group", at, &group)?;
                MdbGroup::Mac(MacAddress(*mac))
            }
        };
        let port = IfIndex(u32::from_ne_bytes([p0, p1, p2, p3]));
        let vid = u16::from_ne_bytes([v0, v1]);
        let mut mdb = Self::on(dev, port, group);
        mdb.state = Some(state.into());
        mdb.flags = Some(MdbFlags(flags));
        mdb.vid = (vid != 0).then_some(vid);
        Ok((mdb, rest))
    }
}
