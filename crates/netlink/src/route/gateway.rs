use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{Attribute, Malformed, Request};
use crate::prefix::Family;
use crate::table::{Code, Native, Shape};
use crate::uapi::{AF_INET, AF_INET6};

/// A next hop of another family than its route's (`RTA_VIA`, `struct rtvia`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Via(pub IpAddr);

impl Code<Via> for Native {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &Via, kind: u16, request: &mut Request) {
        let family = u16::from(u8::from(Family::of(value.0))).to_ne_bytes();
        let mut bytes = [0; 18];
        bytes[..2].copy_from_slice(&family);
        match value.0 {
            IpAddr::V4(ip) => {
                bytes[2..6].copy_from_slice(&ip.octets());
                request.attribute(kind, &bytes[..6]);
            }
            IpAddr::V6(ip) => {
                bytes[2..].copy_from_slice(&ip.octets());
                request.attribute(kind, &bytes);
            }
        }
    }

    fn take(attribute: Attribute<'_>) -> Result<Via, Malformed> {
        let family = u16::from_ne_bytes(attribute.array()?);
        let address = Attribute {
            at: attribute.at + 2,
            bytes: &attribute.bytes[2..],
            ..attribute
        };
        let (v4, v6) = (u16::from(AF_INET), u16::from(AF_INET6));
        match family {
            it if it == v4 => Ok(Via(address.array::<4>()?.into())),
            it if it == v6 => Ok(Via(address.array::<16>()?.into())),
            _ => Err(Malformed {
                layer: "next hop of family inet or inet6",
                at: attribute.at,
                need: v4.into(),
                have: family.into(),
            }),
        }
    }

    crate::table::whole!(Via);
}

/// As `ip(8)` has it in JSON.
#[derive(Serialize, Deserialize)]
struct Shown {
    family: Family,
    host: IpAddr,
}

impl Serialize for Via {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (family, host) = (Family::of(self.0), self.0);
        Shown { family, host }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Via {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Shown::deserialize(deserializer)?.host))
    }
}
