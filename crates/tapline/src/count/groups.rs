//! The table of groups.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use bpf::count::{GROUP_KEY_BYTES, KeyField};
use bpf::{CounterTable, TableOptions, WhenFull};
use rustix::system::sysinfo;

use super::error::CountError;
use super::interval::{Group, Tally};
use super::key::{GroupKey, Key};
use super::lane::NAME;
use super::options::Options;

/// Groups by the serial number of their class and what they have in common.
pub(super) type Groups = HashMap<(u32, GroupKey), Tally>;

pub(super) struct GroupTable {
    key: Key,
    table: CounterTable<2>,
}

impl GroupTable {
    pub fn create(key: Key, most: u32) -> Result<Self, CountError> {
        check_room(most)?;
        let options = TableOptions {
            key_bytes: GROUP_KEY_BYTES,
            max_entries: most,
            when_full: WhenFull::Refuse,
        };
        let table = CounterTable::create(NAME, options)?;
        Ok(Self { key, table })
    }

    pub fn field(&self) -> KeyField {
        match self.key {
            Key::Src => KeyField::Source,
            Key::Dst => KeyField::Destination,
            Key::SrcPort => KeyField::SourcePort,
            Key::DstPort => KeyField::DestinationPort,
            Key::Protocol => KeyField::Protocol,
            Key::Vlan => KeyField::Vlan,
            Key::EtherType => KeyField::EtherType,
            Key::SrcMac => KeyField::SourceMac,
            Key::DstMac => KeyField::DestinationMac,
        }
    }

    /// All groups of all classes.
    pub fn read(&mut self) -> io::Result<Groups> {
        let mut groups = Groups::new();
        let key = self.key;
        self.table.read(|bytes, [packets, bytes_counted]| {
            let tally = Tally {
                packets,
                bytes: bytes_counted,
            };
            if let Some((serial, key)) = parse(bytes, key) {
                groups.insert((serial, key), tally);
            }
        })?;
        Ok(groups)
    }

    /// Makes room: takes out the groups of a class.
    pub fn remove(&mut self, class: u32) -> io::Result<()> {
        let mut keys: Vec<[u8; GROUP_KEY_BYTES as usize]> = Vec::new();
        self.table.read(|bytes, _| {
            if let Ok(key) = <[u8; GROUP_KEY_BYTES as usize]>::try_from(bytes)
                && serial(bytes) == Some(class)
            {
                keys.push(key);
            }
        })?;
        for key in keys {
            self.table.remove(&key)?;
        }
        Ok(())
    }
}

/// Refuses more groups than [`Options::MOST_GROUPS`], or than a quarter of the machine's memory holds:
/// the kernel takes it for all of them at once.
fn check_room(groups: u32) -> Result<(), CountError> {
    let group_bytes = CounterTable::<2>::entry_bytes(GROUP_KEY_BYTES);
    let group_bytes = group_bytes.map_err(|source| CountError::Read { source })?;
    let memory = sysinfo();
    let quarter = memory.totalram as u64 * u64::from(memory.mem_unit) / 4;
    let most = (quarter / group_bytes).min(Options::MOST_GROUPS.into()) as u32;
    if groups > most {
        return Err(CountError::TooManyGroups {
            groups,
            most,
            group_bytes,
        });
    }
    Ok(())
}

impl AsFd for GroupTable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.table.as_fd()
    }
}

fn serial(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.first_chunk()?))
}

/// What a key of the table says, as `bpf::count` lays it out.
fn parse(bytes: &[u8], key: Key) -> Option<(u32, GroupKey)> {
    const IPV4: u32 = 4;
    let kind = u32::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    let data: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
    let word: [u8; 4] = *data.first_chunk()?;
    let number = u32::from_ne_bytes(word);
    let group = match key {
        Key::Src | Key::Dst if kind == IPV4 => {
            GroupKey::Address(IpAddr::V4(Ipv4Addr::from_octets(word)))
        }
        Key::Src | Key::Dst => GroupKey::Address(IpAddr::V6(Ipv6Addr::from_octets(data))),
        Key::SrcPort | Key::DstPort => GroupKey::Port(number as u16),
        Key::Protocol => GroupKey::Protocol(number as u8),
        Key::Vlan => GroupKey::Vlan(number as u16),
        Key::EtherType => GroupKey::EtherType(number as u16),
        Key::SrcMac | Key::DstMac => GroupKey::Mac(*data.first_chunk()?),
    };
    Some((serial(bytes)?, group))
}

/// By class: its groups, most packets first, without those that have none.
pub(super) fn by_class(
    groups: impl Iterator<Item = ((u32, GroupKey), Tally)>,
) -> HashMap<u32, Vec<Group>> {
    let mut classes: HashMap<u32, Vec<Group>> = HashMap::new();
    for ((class, key), tally) in groups {
        if tally.packets > 0 {
            classes.entry(class).or_default().push(Group { key, tally });
        }
    }
    for groups in classes.values_mut() {
        groups.sort_unstable_by(|a, b| b.tally.cmp(&a.tally).then(a.key.cmp(&b.key)));
    }
    classes
}
