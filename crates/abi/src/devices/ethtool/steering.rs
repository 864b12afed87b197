//! How a device spreads received packets over its queues: the hash, its table and key, and rules for flows.

use std::io;
use std::os::fd::BorrowedFd;

use super::request;
use crate::uapi::Uapi;

/// Most entries of an indirection table, and most bytes of a key, that are read. No driver has more.
const TABLE_MAX: usize = 1 << 14;
const KEY_MAX: usize = 1 << 10;
/// Most rules that are read. No driver has more.
const RULES_MAX: usize = 1 << 16;

const ETHTOOL_GRXFH: u32 = 0x29;
const ETHTOOL_SRXFH: u32 = 0x2a;
const ETHTOOL_GRXRINGS: u32 = 0x2d;
const ETHTOOL_GRXCLSRLCNT: u32 = 0x2e;
const ETHTOOL_GRXCLSRULE: u32 = 0x2f;
const ETHTOOL_GRXCLSRLALL: u32 = 0x30;
const ETHTOOL_SRXCLSRLDEL: u32 = 0x31;
const ETHTOOL_SRXCLSRLINS: u32 = 0x32;
const ETHTOOL_GRSSH: u32 = 0x46;
const ETHTOOL_SRSSH: u32 = 0x47;

/// The table is not to change.
const TABLE_UNCHANGED: u32 = u32::MAX;

/// The driver takes rules without a place, in the data of the count (`RX_CLS_LOC_SPECIAL`).
const TAKES_ANY_LOCATION: u64 = 0x8000_0000;

/// The place of a rule is up to the driver.
#[doc(alias = "RX_CLS_LOC_ANY")]
pub const ANY_LOCATION: u32 = u32::MAX;

/// The header of `struct ethtool_rxfh`: the table and the key follow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct HashHeader {
    command: u32,
    context: u32,
    table_entries: u32,
    key_bytes: u32,
    function: u8,
    transformation: u8,
    reserved: [u8; 2],
    reserved_2: u32,
}

const HEADER_WORDS: usize = size_of::<HashHeader>() / 4;
const _: () = assert!(size_of::<HashHeader>() == 24);

/// How a device hashes packets and chooses a queue by the hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hash {
    /// The indirection table: a queue for each value of the low bits of the hash. Empty if there is none, in a change if
    /// it is the driver's own.
    pub table: Vec<u32>,
    /// The key of the hash, perhaps empty.
    pub key: Vec<u8>,
    /// The hash function, one bit of `ETH_RSS_HASH_*`; 0 if it is unknown.
    pub function: u8,
    transformation: u8,
}

/// What changes of a hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashChange<'a> {
    /// The indirection table, empty for the driver's own.
    pub table: Option<&'a [u32]>,
    /// The key, of the device's length.
    pub key: Option<&'a [u8]>,
    /// The hash function, one bit of `ETH_RSS_HASH_*`.
    pub function: Option<u8>,
}

/// A rule for a flow (`struct ethtool_rx_flow_spec`). Numbers of packets are in network byte order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSpec {
    /// What packets it is for (`TCP_V4_FLOW` …), and `FLOW_EXT`, `FLOW_MAC_EXT`, `FLOW_RSS`.
    pub flow_type: u32,
    /// Fields of the packet, by the type (`union ethtool_flow_union`), in words.
    pub fields: [u32; 13],
    /// More fields (`struct ethtool_flow_ext`): padding, destination address, EtherType and tag of the VLAN, data.
    pub extension: [u32; 5],
    /// Which bits of `fields` count.
    pub field_mask: [u32; 13],
    /// Which bits of `extension` count.
    pub extension_mask: [u32; 5],
    padding: u32,
    /// The queue, or `RX_CLS_FLOW_DISC`.
    pub queue: u64,
    /// Number of the rule: rules with low numbers come first.
    pub location: u32,
    padding_2: u32,
}

/// `struct ethtool_rxnfc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Classification {
    command: u32,
    flow_type: u32,
    data: u64,
    rule: FlowSpec,
    rule_count: u32,
    padding: u32,
}

const _: () = assert!(size_of::<FlowSpec>() == 168);
const _: () = assert!(size_of::<Classification>() == 192);
/// Where the numbers of rules begin, in words: in the padding of the struct.
const LOCATIONS_AT: usize = 188 / 4;

impl FlowSpec {
    /// A rule at any place for packets of this type, whatever their fields.
    pub fn new(flow_type: u32) -> Self {
        Self {
            flow_type,
            location: ANY_LOCATION,
            ..Self::default()
        }
    }
}

// SAFETY: 4 + 52 + 20 + 52 + 20 + 4 + 8 + 4 + 4 = 168 bytes of integers, each on its alignment.
unsafe impl Uapi for FlowSpec {}
// SAFETY: 4 + 4 + 8 + 168 + 4 + 4 = 192 bytes of integers and of such a struct, each on its alignment.
unsafe impl Uapi for Classification {}

/// Returns how the device hashes packets.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver does not hash.
/// # Source
/// `ethtool_get_rxfh`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_GRSSH")]
pub fn hash(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<Hash> {
    let sizes = HashHeader {
        command: ETHTOOL_GRSSH,
        ..HashHeader::default()
    };
    let mut words = sizes.words();
    // SAFETY: with sizes of 0, GRSSH reads and writes the header only, which `words` has the length of.
    unsafe { request(socket, name, words.as_mut_ptr()) }?;
    let sizes = HashHeader::of(&words);
    let (entries, key_bytes) = (sizes.table_entries as usize, sizes.key_bytes as usize);
    if entries > TABLE_MAX || key_bytes > KEY_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    words.resize(HEADER_WORDS + entries + key_bytes.div_ceil(4), 0);
    // SAFETY: GRSSH writes the header, `table_entries` words and `key_bytes` bytes, and refuses if the device has other
    // sizes now; `words` has room for them.
    unsafe { request(socket, name, words.as_mut_ptr()) }?;
    let header = HashHeader::of(&words);
    let (table, key) = words[HEADER_WORDS..].split_at(entries);
    let key = key.iter().flat_map(|word| word.to_ne_bytes());
    Ok(Hash {
        table: table.to_vec(),
        key: key.take(key_bytes).collect(),
        function: header.function,
        transformation: header.transformation,
    })
}

/// Changes how the device hashes packets. `present` is how it does.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver cannot change it, EINVAL if a size is not the device's, or
/// a queue is not there.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// `ethtool_set_rxfh`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_SRSSH")]
pub fn set_hash(
    socket: BorrowedFd<'_>,
    name: [u8; 16],
    present: &Hash,
    change: HashChange<'_>,
) -> io::Result<()> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let (table, key) = (
        change.table.unwrap_or_default(),
        change.key.unwrap_or_default(),
    );
    let entries = u32::try_from(table.len()).map_err(invalid)?;
    let header = HashHeader {
        command: ETHTOOL_SRSSH,
        table_entries: change.table.map_or(TABLE_UNCHANGED, |_| entries),
        key_bytes: u32::try_from(key.len()).map_err(invalid)?,
        function: change.function.unwrap_or(0),
        transformation: present.transformation,
        ..HashHeader::default()
    };
    let mut words = header.words();
    words.extend(table);
    for part in key.chunks(4) {
        let mut word = [0; 4];
        word[..part.len()].copy_from_slice(part);
        words.push(u32::from_ne_bytes(word));
    }
    // SAFETY: SRSSH reads the header, as many words as it says for the table, and as many bytes as it says for the key, all
    // of which `words` has, and writes nothing behind the header.
    unsafe { request(socket, name, words.as_mut_ptr()) }
}

impl HashHeader {
    fn words(self) -> Vec<u32> {
        let flags = [self.function, self.transformation, 0, 0];
        vec![
            self.command,
            self.context,
            self.table_entries,
            self.key_bytes,
            u32::from_ne_bytes(flags),
            self.reserved_2,
        ]
    }

    fn of(words: &[u32]) -> Self {
        let [function, transformation, ..] = words[4].to_ne_bytes();
        Self {
            table_entries: words[2],
            key_bytes: words[3],
            function,
            transformation,
            ..Self::default()
        }
    }
}

/// Returns which fields of packets of `flow_type` the device hashes (`RXH_*`).
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver does not report it.
/// # Source
/// `ethtool_get_rxfh_fields`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_GRXFH")]
pub fn hashed_fields(socket: BorrowedFd<'_>, name: [u8; 16], flow_type: u32) -> io::Result<u64> {
    let answer = classify(
        socket,
        name,
        Classification {
            command: ETHTOOL_GRXFH,
            flow_type,
            ..Classification::default()
        },
    );
    Ok(answer?.data)
}

/// Changes which fields of packets of `flow_type` the device hashes.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP or EINVAL if its driver cannot.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// `ethtool_set_rxfh_fields`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_SRXFH")]
pub fn set_hashed_fields(
    socket: BorrowedFd<'_>,
    name: [u8; 16],
    flow_type: u32,
    fields: u64,
) -> io::Result<()> {
    let change = Classification {
        command: ETHTOOL_SRXFH,
        flow_type,
        data: fields,
        ..Classification::default()
    };
    classify(socket, name, change).map(drop)
}

/// Returns the number of queues that a hash or a rule can choose.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver does not report it.
#[doc(alias = "ETHTOOL_GRXRINGS")]
pub fn steered_queues(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<u64> {
    let answer = classify(
        socket,
        name,
        Classification {
            command: ETHTOOL_GRXRINGS,
            ..Classification::default()
        },
    );
    Ok(answer?.data)
}

/// The rules of a device.
#[derive(Clone, Debug, Default)]
pub struct FlowRules {
    /// The configured rules.
    pub rules: Vec<FlowSpec>,
    /// Number of places for rules.
    pub places: u64,
    /// The driver chooses the place of a rule at [`ANY_LOCATION`].
    pub takes_any: bool,
}

/// Returns the rules of the device.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver has no rules.
/// # Source
/// `ethtool_get_rxnfc`, net/ethtool/ioctl.c.
#[doc(alias("ETHTOOL_GRXCLSRLALL", "ETHTOOL_GRXCLSRULE"))]
pub fn flow_rules(socket: BorrowedFd<'_>, name: [u8; 16]) -> io::Result<FlowRules> {
    let counted = Classification {
        command: ETHTOOL_GRXCLSRLCNT,
        ..Classification::default()
    };
    let counted = classify(socket, name, counted)?;
    let (places, locations) = locations(socket, name, counted.rule_count as usize)?;
    let rules = locations.into_iter().map(|location| {
        let mut asked = Classification {
            command: ETHTOOL_GRXCLSRULE,
            ..Classification::default()
        };
        asked.rule.location = location;
        classify(socket, name, asked).map(|answer| answer.rule)
    });
    Ok(FlowRules {
        rules: rules.collect::<io::Result<_>>()?,
        places,
        takes_any: counted.data & TAKES_ANY_LOCATION != 0,
    })
}

/// Number of places for rules, and those of the `count` rules that there are.
fn locations(socket: BorrowedFd<'_>, name: [u8; 16], count: usize) -> io::Result<(u64, Vec<u32>)> {
    if count > RULES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Words of 8 bytes, the alignment of the struct, which is 4 bytes longer than what is before the numbers.
    let mut room = vec![0_u64; (LOCATIONS_AT + count.max(1)).div_ceil(2)];
    let set = |room: &mut [u64], at: usize, word: u32| {
        let mut parts = halves(room[at / 2]);
        parts[at % 2] = word.to_ne_bytes();
        room[at / 2] = joined(parts);
    };
    set(&mut room, 0, ETHTOOL_GRXCLSRLALL);
    set(&mut room, RULE_COUNT_AT, count as u32);
    // SAFETY: GRXCLSRLALL writes the struct and up to `rule_count` words at byte 188, for which `room` has space.
    unsafe { request(socket, name, room.as_mut_ptr()) }?;
    let words: Vec<u32> = (room.iter())
        .flat_map(|pair| halves(*pair).map(u32::from_ne_bytes))
        .collect();
    // Rules that are gone meanwhile make the kernel write fewer.
    let written = words[RULE_COUNT_AT] as usize;
    let locations = words[LOCATIONS_AT..][..written.min(count)].to_vec();
    // The data of the struct is its second word of 8 bytes.
    Ok((room[1], locations))
}

fn halves(pair: u64) -> [[u8; 4]; 2] {
    let bytes = pair.to_ne_bytes();
    let (halves, _) = bytes.as_chunks();
    [halves[0], halves[1]]
}

fn joined(halves: [[u8; 4]; 2]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(halves.as_flattened());
    u64::from_ne_bytes(bytes)
}

/// Where the number of rules is, in words.
const RULE_COUNT_AT: usize = 184 / 4;

/// Adds a rule. Returns its number.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver has no rules, EINVAL if it has none like this.
/// # Privileges
/// `CAP_NET_ADMIN`.
/// # Source
/// `ethtool_set_rxnfc`, net/ethtool/ioctl.c.
#[doc(alias = "ETHTOOL_SRXCLSRLINS")]
pub fn add_flow_rule(socket: BorrowedFd<'_>, name: [u8; 16], rule: &FlowSpec) -> io::Result<u32> {
    let change = Classification {
        command: ETHTOOL_SRXCLSRLINS,
        rule: *rule,
        ..Classification::default()
    };
    Ok(classify(socket, name, change)?.rule.location)
}

/// Removes the rule `location`.
///
/// # Errors
/// ENODEV if there is no such interface, EOPNOTSUPP if its driver has no rules, ENOENT or EINVAL if there is no such rule.
/// # Privileges
/// `CAP_NET_ADMIN`.
#[doc(alias = "ETHTOOL_SRXCLSRLDEL")]
pub fn remove_flow_rule(socket: BorrowedFd<'_>, name: [u8; 16], location: u32) -> io::Result<()> {
    let mut change = Classification {
        command: ETHTOOL_SRXCLSRLDEL,
        ..Classification::default()
    };
    change.rule.location = location;
    classify(socket, name, change).map(drop)
}

fn classify(
    socket: BorrowedFd<'_>,
    name: [u8; 16],
    mut argument: Classification,
) -> io::Result<Classification> {
    // SAFETY: these commands read and write one `ethtool_rxnfc`, which is what `argument` is; those with numbers behind it
    // have a function of their own.
    unsafe { request(socket, name, &raw mut argument) }?;
    Ok(argument)
}
