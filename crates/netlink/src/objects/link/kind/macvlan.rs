//! Macvlan and ipvlan links.

use super::kinds::KindSettings;
use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    Arguments, AttributeCodec, AttributeSpec, AttributeType, BitField, Native, Parsed,
    attribute_set, number_enum, specs, switches,
};
use crate::uapi::IFLA_MACVLAN_MACADDR;
use crate::values::interface::MacAddress;

attribute_set! {
    /// A link with its own hardware address on a lower link.
    ///
    /// Equals `ip link add NAME link LOWER type macvlan mode bridge` or `… type macvtap …`.
    ///
    /// # Source
    /// `macvlan_policy`, drivers/net/macvlan.c.
    pub struct Macvlan {
        /// With which siblings it communicates.
        "mode" mode: MacvlanMode = IFLA_MACVLAN_MODE;
        flags: MacvlanFlags as BitField<u16> = IFLA_MACVLAN_FLAGS, Flatten;
        /// How to change the source addresses, in source mode. Write-only.
        macaddr_mode: MacAddrMode = IFLA_MACVLAN_MACADDR_MODE;
        /// An address to add or delete. Write-only.
        macaddr: MacAddress = IFLA_MACVLAN_MACADDR;
        /// Number of source addresses. Read-only.
        macaddr_count @reported: u32 = IFLA_MACVLAN_MACADDR_COUNT;
        /// The accepted source addresses, in source mode.
        macaddr_data: Vec<MacAddress> as MacList = IFLA_MACVLAN_MACADDR_DATA;
        /// Length of the broadcast queue in packets.
        "bcqueuelen" bcqueuelen: u32 = IFLA_MACVLAN_BC_QUEUE_LEN;
        /// Length of the broadcast queue in use, shared by all macvlans of the lower link. Read-only.
        usedbcqueuelen @reported: u32 = IFLA_MACVLAN_BC_QUEUE_LEN_USED;
        /// Multicast rate below which packets bypass the broadcast queue; -1 is no limit. Since Linux 6.4.
        "bclim" bclim: i32 = IFLA_MACVLAN_BC_CUTOFF;
    }
}

impl KindSettings for Macvlan {
    /// `macaddr { add MAC | del MAC | set [MAC…] | flush }`, and `flag`, which is ignored.
    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
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

number_enum! {
    /// With which siblings a macvlan communicates.
    pub enum MacvlanMode: u32 {
        /// With none.
        Private = 1, "private";
        /// With all, through an external switch.
        Vepa = 2, "vepa";
        /// With all, directly.
        Bridge = 4, "bridge";
        /// It owns the lower link exclusively.
        Passthru = 8, "passthru";
        /// Only packets from listed source addresses.
        Source = 16, "source";
    }
}

number_enum! {
    /// How to change the source addresses of a macvlan.
    pub enum MacAddrMode: u32 {
        /// Add one.
        Add = 0, "add";
        /// Delete one.
        Del = 1, "del";
        /// Delete all.
        Flush = 2, "flush";
        /// Replace all.
        Set = 3, "set";
    }
}

switches! {
    /// Switches of a macvlan.
    pub struct MacvlanFlags {
        /// Whether the lower link stays non-promiscuous in passthru mode.
        "nopromisc" nopromisc = 0x1;
        /// Whether packets accepted in source mode are not delivered to their destination too.
        "nodst" nodst = 0x2;
    }
}

/// Addresses, one attribute each.
#[derive(Clone, Copy, Debug)]
pub struct MacList;

const ENTRIES: &[AttributeSpec] = specs! {
    IFLA_MACVLAN_MACADDR: AttributeType::Mac,
};

impl AttributeCodec<Vec<MacAddress>> for MacList {
    const TYPE: AttributeType = AttributeType::Nest {
        skip: 0,
        attributes: || ENTRIES,
    };

    fn encode(value: &Vec<MacAddress>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for address in value {
                Native::encode(address, IFLA_MACVLAN_MACADDR, request);
            }
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<MacAddress>, Malformed> {
        let addresses = attribute.attributes();
        addresses.map(|address| Native::decode(address?)).collect()
    }

    /// The order is not significant.
    fn matches(value: &Vec<MacAddress>, wanted: &Vec<MacAddress>) -> bool {
        value.len() == wanted.len() && wanted.iter().all(|address| value.contains(address))
    }
}

attribute_set! {
    /// A link with its own IP addresses and the hardware address of its lower link.
    ///
    /// Equals `ip link add NAME link LOWER type ipvlan mode l3 private` or `… type ipvtap …`.
    ///
    /// # Source
    /// `ipvlan_nl_policy`, drivers/net/ipvlan/ipvlan_main.c.
    pub struct Ipvlan {
        /// The layer at which it switches or routes.
        "mode" mode: IpvlanMode = IFLA_IPVLAN_MODE;
        /// With which siblings it communicates.
        "flags" flags: IpvlanFlags = IFLA_IPVLAN_FLAGS;
    }
}

impl KindSettings for Ipvlan {}

number_enum! {
    /// The layer of an ipvlan.
    pub enum IpvlanMode: u16 {
        /// Layer 2: neighbours and broadcast.
        L2 = 0, "l2";
        /// Layer 3: routing only.
        L3 = 1, "l3";
        /// Layer 3 with netfilter.
        L3s = 2, "l3s";
    }
}

number_enum! {
    /// With which siblings an ipvlan communicates.
    pub enum IpvlanFlags: u16, bare {
        /// With all.
        Bridge = 0, "bridge";
        /// With none.
        Private = 1, "private";
        /// With all, through an external switch.
        Vepa = 2, "vepa";
    }
}
