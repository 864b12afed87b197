//! The kernel's table of groups.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use abi::machine::Machine;
use bpf::count::{GROUP_KEY_BYTES, KeyField};
use bpf::{CounterTable, FullTablePolicy, TableOptions};

use super::classes::NAME;
use super::error::CountError;
use super::figures::{Group, Traffic};
use super::group_key::{GroupBy, GroupKey};
use super::options::CountOptions;

/// Groups by the serial number of their class and their key.
pub(super) type Groups = HashMap<(u32, GroupKey), Traffic>;

pub(super) struct GroupTable {
    key: GroupBy,
    table: CounterTable<2>,
}

impl GroupTable {
    pub fn create(key: GroupBy, most: u32) -> Result<Self, CountError> {
        check_room(most)?;
        let options = TableOptions {
            key_bytes: GROUP_KEY_BYTES,
            max_entries: most,
            when_full: FullTablePolicy::Refuse,
        };
        let table = CounterTable::create(NAME, options)?;
        Ok(Self { key, table })
    }

    pub fn field(&self) -> KeyField {
        match self.key {
            GroupBy::Src => KeyField::Source,
            GroupBy::Dst => KeyField::Destination,
            GroupBy::SrcPort => KeyField::SourcePort,
            GroupBy::DstPort => KeyField::DestinationPort,
            GroupBy::Protocol => KeyField::Protocol,
            GroupBy::Vlan => KeyField::Vlan,
            GroupBy::EtherType => KeyField::EtherType,
            GroupBy::SrcMac => KeyField::SourceMac,
            GroupBy::DstMac => KeyField::DestinationMac,
        }
    }

    /// Reads all groups of all classes.
    ///
    /// # Errors
    /// Those of [`CounterTable::read`]; ENOMEM if there is no memory for the groups, or for lists of them by class.
    pub fn read(&mut self) -> io::Result<Groups> {
        let mut groups = Groups::new();
        let mut is_complete = true;
        let key = self.key;
        self.table.read(|bytes, [packets, bytes_counted]| {
            let traffic = Traffic {
                packets,
                bytes: bytes_counted,
            };
            if let Some(class_and_key) = parse(bytes, key) {
                is_complete &= groups.try_reserve(1).is_ok();
                if is_complete {
                    groups.insert(class_and_key, traffic);
                }
            }
        })?;
        if !is_complete || !has_room_for_lists(groups.len()) {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        Ok(groups)
    }

    /// Removes the groups of a class.
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

/// Whether there is memory for lists of so many groups: [`by_class`] makes one, which grows to at most twice its size, and
/// whoever reads the figures may make another one. A list that grows has no error of its own: it ends the process.
fn has_room_for_lists(groups: usize) -> bool {
    let mut lists = Vec::<[Group; 4]>::new();
    let reserved = lists.try_reserve_exact(groups);
    // Otherwise the compiler may leave out an allocation that nobody uses.
    std::hint::black_box(lists.as_ptr());
    reserved.is_ok()
}

/// Rejects more groups than [`CountOptions::MAX_GROUPS`], or than fit in a quarter of the host's
/// memory. The kernel allocates all of it at once.
fn check_room(groups: u32) -> Result<(), CountError> {
    let group_bytes = CounterTable::<2>::entry_bytes(GROUP_KEY_BYTES);
    let group_bytes = group_bytes.map_err(|source| CountError::Read { source })?;
    // Where sysinfo(2) is refused, the kernel refuses what does not fit.
    let quarter = Machine::read().map_or(u64::MAX, |machine| machine.memory_bytes / 4);
    let most = (quarter / group_bytes).min(CountOptions::MAX_GROUPS.into()) as u32;
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

/// Parses a key of the table, in the layout of `bpf::count`.
fn parse(bytes: &[u8], key: GroupBy) -> Option<(u32, GroupKey)> {
    const IPV4: u32 = 4;
    let kind = u32::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    let data: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
    let word: [u8; 4] = *data.first_chunk()?;
    let number = u32::from_ne_bytes(word);
    let group = match key {
        GroupBy::Src | GroupBy::Dst if kind == IPV4 => {
            GroupKey::Address(IpAddr::V4(Ipv4Addr::from_octets(word)))
        }
        GroupBy::Src | GroupBy::Dst => GroupKey::Address(IpAddr::V6(Ipv6Addr::from_octets(data))),
        GroupBy::SrcPort | GroupBy::DstPort => GroupKey::Port(number as u16),
        GroupBy::Protocol => GroupKey::Protocol(number as u8),
        GroupBy::Vlan => GroupKey::Vlan(number as u16),
        GroupBy::EtherType => GroupKey::EtherType(number as u16),
        GroupBy::SrcMac | GroupBy::DstMac => GroupKey::Mac(*data.first_chunk()?),
    };
    Some((serial(bytes)?, group))
}

/// By class: its groups with at least one packet, most packets first.
pub(super) fn by_class(
    groups: impl Iterator<Item = ((u32, GroupKey), Traffic)>,
) -> HashMap<u32, Vec<Group>> {
    let mut classes: HashMap<u32, Vec<Group>> = HashMap::new();
    for ((class, key), traffic) in groups {
        if traffic.packets > 0 {
            classes
                .entry(class)
                .or_default()
                .push(Group { key, traffic });
        }
    }
    for groups in classes.values_mut() {
        groups.sort_unstable_by(|a, b| b.traffic.cmp(&a.traffic).then(a.key.cmp(&b.key)));
    }
    classes
}
