//! VLAN links.

use serde::{Deserialize, Serialize};

use super::kinds::KindSettings;
use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    Arguments, AttributeCodec, AttributeSpec, AttributeType, BigEndian, MaskedBitField, NameLookup,
    Parsed, TextValue, attribute_set, number_enum, specs, switches, text_field_values,
};
use crate::uapi::IFLA_VLAN_QOS_MAPPING;

attribute_set! {
    /// A VLAN of a lower link.
    ///
    /// Equals `ip link add NAME link LOWER type vlan id ID [protocol PROTOCOL] [gvrp on] …`.
    ///
    /// # Source
    /// `vlan_policy`, net/8021q/vlan_netlink.c.
    pub struct Vlan {
        /// EtherType of its tag.
        "protocol" | "proto" protocol: VlanProtocol as BigEndian = IFLA_VLAN_PROTOCOL;
        "id" [0..=4094] id: u16 = IFLA_VLAN_ID;
        flags: VlanFlags as MaskedBitField = IFLA_VLAN_FLAGS, Flatten;
        /// Maps the priority in the tag of received packets to packet priorities.
        "ingress-qos-map" | "ingress" ingress_qos: Vec<QosMapping> as QosMap = IFLA_VLAN_INGRESS_QOS;
        /// Maps packet priorities to the priority in the tag of sent packets.
        "egress-qos-map" | "egress" egress_qos: Vec<QosMapping> as QosMap = IFLA_VLAN_EGRESS_QOS;
    }
}

impl KindSettings for Vlan {
    fn suspect_attribute(&self) -> Option<&'static str> {
        self.id.filter(|id| *id > 4094).map(|_| "vlan-id")
    }
}

switches! {
    /// Switches of a VLAN.
    pub struct VlanFlags {
        /// Whether packets are delivered without their tag.
        "reorder_hdr" reorder_hdr = 0x1;
        /// Whether it is announced to switches (GARP VLAN Registration Protocol).
        "gvrp" gvrp = 0x2;
        /// Whether it can be up while the lower link is down.
        "loose_binding" loose_binding = 0x4;
        /// Whether it is announced to switches (Multiple VLAN Registration Protocol).
        "mvrp" mvrp = 0x8;
        /// Whether its state follows the bridge ports in the VLAN.
        "bridge_binding" bridge_binding = 0x10;
    }
}

number_enum! {
    /// EtherType of a VLAN's tag.
    pub enum VlanProtocol: u16 {
        /// A customer's tag (0x8100).
        Dot1Q = 0x8100, "802.1Q";
        /// A provider's tag (0x88a8).
        Dot1Ad = 0x88a8, "802.1ad";
    }
}

/// Maps one priority to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosMapping {
    /// The original priority.
    pub from: u32,
    /// The new priority.
    pub to: u32,
}

/// Priority mappings, one attribute each. Other priorities keep their mapping.
#[derive(Clone, Copy, Debug)]
pub struct QosMap;

const ENTRIES: &[AttributeSpec] = specs! {
    IFLA_VLAN_QOS_MAPPING: AttributeType::Bytes,
};

impl AttributeCodec<Vec<QosMapping>> for QosMap {
    const TYPE: AttributeType = AttributeType::Nest {
        skip: 0,
        attributes: || ENTRIES,
    };

    fn encode(value: &Vec<QosMapping>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for QosMapping { from, to } in value {
                let bytes = [from.to_ne_bytes(), to.to_ne_bytes()];
                request.attribute(IFLA_VLAN_QOS_MAPPING, bytes.as_flattened());
            }
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<QosMapping>, Malformed> {
        let mappings = attribute.attributes().map(|mapping| {
            let [a, b, c, d, to @ ..] = mapping?.array::<8>()?;
            Ok(QosMapping {
                from: u32::from_ne_bytes([a, b, c, d]),
                to: u32::from_ne_bytes(to),
            })
        });
        mappings.collect()
    }

    fn matches(value: &Vec<QosMapping>, wanted: &Vec<QosMapping>) -> bool {
        wanted.iter().all(|mapping| value.contains(mapping))
    }

    fn merge(value: &mut Vec<QosMapping>, change: Vec<QosMapping>) {
        value.retain(|old| change.iter().all(|new| new.from != old.from));
        value.extend(change);
    }
}

text_field_values!(QosMapping);

impl TextValue for QosMapping {
    /// `FROM:TO`.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        let (from, to) = text.split_once(':')?;
        Some(Self {
            from: TextValue::parse(from, lookup)?,
            to: TextValue::parse(to, lookup)?,
        })
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        format!("{}:{}", self.from, self.to)
    }

    fn parse_list(words: &mut Arguments<'_>, name: &str) -> Parsed<Vec<Self>> {
        let mut mappings = vec![words.value(name)?];
        while words.peek().is_some_and(|word| word.contains(':')) {
            mappings.push(words.value(name)?);
        }
        Ok(mappings)
    }

    fn format_list(values: &[Self], lookup: &mut dyn NameLookup) -> String {
        let words: Vec<_> = values.iter().map(|value| value.format(lookup)).collect();
        words.join(" ")
    }
}
