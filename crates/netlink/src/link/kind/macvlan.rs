use super::data::Data;
use crate::codec::{Attribute, Malformed, Request};
use crate::interface::MacAddress;
use crate::table::{BadWord, Code, Entry, Native, Plain, Shape, Words, attributes, bits, names};
use crate::uapi::IFLA_MACVLAN_MACADDR;

attributes! {
    /// A link with an address of its own on the link below it.
    ///
    /// Equals `ip link add NAME link LOWER type macvlan mode bridge` or `… type macvtap …`.
    ///
    /// # Source
    /// `macvlan_policy`, drivers/net/macvlan.c.
    pub struct Macvlan {
        /// With whom it speaks.
        "mode" mode: MacvlanMode = IFLA_MACVLAN_MODE;
        /// Its switches.
        flags: MacvlanFlags as Plain<u16> = IFLA_MACVLAN_FLAGS, Spread;
        /// What is done with the addresses below, in source mode. Said only.
        macaddr_mode: MacAddrMode = IFLA_MACVLAN_MACADDR_MODE;
        /// An address to be added or removed. Said only.
        macaddr: MacAddress = IFLA_MACVLAN_MACADDR;
        /// How many addresses it takes packets from. Told only.
        macaddr_count: u32 = IFLA_MACVLAN_MACADDR_COUNT;
        /// The addresses it takes packets from, in source mode.
        macaddr_data: Vec<MacAddress> as MacList = IFLA_MACVLAN_MACADDR_DATA;
        /// Broadcast packets that may wait.
        "bcqueuelen" bcqueuelen: u32 = IFLA_MACVLAN_BC_QUEUE_LEN;
        /// How many may on the link below, for all. Told only.
        usedbcqueuelen: u32 = IFLA_MACVLAN_BC_QUEUE_LEN_USED;
        /// Multicast packets a second up to which they do not wait; -1 for no limit. Since Linux 6.4.
        "bclim" bclim: i32 = IFLA_MACVLAN_BC_CUTOFF;
    }
}

impl Data for Macvlan {
    /// `macaddr { add MAC | del MAC | set [MAC…] | flush }`, and `flag`, which means nothing.
    fn more_words(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        match word {
            "flag" => Ok(true),
            "macaddr" => {
                let mode = words.value(word)?;
                self.macaddr_mode = Some(mode);
                match mode {
                    MacAddrMode::Add | MacAddrMode::Del => self.macaddr = Some(words.value(word)?),
                    MacAddrMode::Set => {
                        let list = self.macaddr_data.insert(Vec::new());
                        while words.peek().is_some_and(|text| text.contains(':')) {
                            list.push(words.value(word)?);
                        }
                    }
                    _ => {}
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

names! {
    /// With whom a macvlan speaks.
    pub enum MacvlanMode: u32 {
        /// With none of its siblings.
        Private = 1, "private";
        /// With them through a switch outside.
        Vepa = 2, "vepa";
        /// With them.
        Bridge = 4, "bridge";
        /// It has the link below for itself.
        Passthru = 8, "passthru";
        /// With those whose addresses are in its list.
        Source = 16, "source";
    }
}

names! {
    /// What is done with the addresses of a macvlan in source mode.
    pub enum MacAddrMode: u32 {
        /// One is added.
        Add = 0, "add";
        /// One is removed.
        Del = 1, "del";
        /// All are removed.
        Flush = 2, "flush";
        /// Others take their place.
        Set = 3, "set";
    }
}

bits! {
    /// Switches of a macvlan.
    pub struct MacvlanFlags {
        /// Whether the link below is not made promiscuous, in passthru mode.
        "nopromisc" nopromisc = 0x1;
        /// Whether a packet that one in source mode took does not go to its destination as well.
        "nodst" nodst = 0x2;
    }
}

/// Addresses, an attribute each.
#[derive(Clone, Copy, Debug)]
pub struct MacList;

const ENTRIES: &[Entry] = &[Entry {
    kind: IFLA_MACVLAN_MACADDR,
    constant: "IFLA_MACVLAN_MACADDR",
    shape: Shape::Mac,
}];

impl Code<Vec<MacAddress>> for MacList {
    const SHAPE: Shape = Shape::Nest {
        skip: 0,
        entries: || ENTRIES,
    };

    fn put(value: &Vec<MacAddress>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for address in value {
                Native::put(address, IFLA_MACVLAN_MACADDR, request);
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<MacAddress>, Malformed> {
        let addresses = attribute.attributes();
        addresses.map(|address| Native::take(address?)).collect()
    }

    /// The kernel keeps them in no order.
    fn matches(value: &Vec<MacAddress>, wanted: &Vec<MacAddress>) -> bool {
        value.len() == wanted.len() && wanted.iter().all(|address| value.contains(address))
    }

    fn merge(value: &mut Vec<MacAddress>, change: Vec<MacAddress>) {
        *value = change;
    }
}
