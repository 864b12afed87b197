//! How addresses and names stand in attributes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::code::whole;
use super::{Code, Native, Shape};
use crate::codec::{Attribute, Malformed, Request};
use crate::interface::{IfIndex, IfName, MacAddress};

impl Code<Ipv4Addr> for Native {
    const SHAPE: Shape = Shape::Ip;

    fn put(value: &Ipv4Addr, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.octets());
    }

    fn take(attribute: Attribute<'_>) -> Result<Ipv4Addr, Malformed> {
        attribute.array::<4>().map(Ipv4Addr::from)
    }

    whole!(Ipv4Addr);
}

impl Code<Ipv6Addr> for Native {
    const SHAPE: Shape = Shape::Ip;

    fn put(value: &Ipv6Addr, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.octets());
    }

    fn take(attribute: Attribute<'_>) -> Result<Ipv6Addr, Malformed> {
        attribute.array::<16>().map(Ipv6Addr::from)
    }

    whole!(Ipv6Addr);
}

impl Code<IpAddr> for Native {
    const SHAPE: Shape = Shape::Ip;

    fn put(value: &IpAddr, kind: u16, request: &mut Request) {
        match value {
            IpAddr::V4(ip) => Self::put(ip, kind, request),
            IpAddr::V6(ip) => Self::put(ip, kind, request),
        }
    }

    /// The length tells the family: 4 bytes or 16.
    fn take(attribute: Attribute<'_>) -> Result<IpAddr, Malformed> {
        match attribute.bytes.len() {
            ..16 => attribute.array::<4>().map(IpAddr::from),
            _ => attribute.array::<16>().map(IpAddr::from),
        }
    }

    /// Each family by itself: an address of either one is put together elsewhere and then moved.
    #[inline]
    fn take_into(place: &mut Option<IpAddr>, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match attribute.bytes.len() {
            ..16 => *place = Some(IpAddr::V4(attribute.array::<4>()?.into())),
            _ => *place = Some(IpAddr::V6(attribute.array::<16>()?.into())),
        }
        Ok(())
    }

    whole!(IpAddr);
}

impl Code<MacAddress> for Native {
    const SHAPE: Shape = Shape::Mac;

    fn put(value: &MacAddress, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.0);
    }

    fn take(attribute: Attribute<'_>) -> Result<MacAddress, Malformed> {
        attribute.array().map(MacAddress)
    }

    whole!(MacAddress);
}

impl Code<IfIndex> for Native {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &IfIndex, kind: u16, request: &mut Request) {
        request.u32(kind, value.0);
    }

    fn take(attribute: Attribute<'_>) -> Result<IfIndex, Malformed> {
        attribute.u32().map(IfIndex)
    }

    whole!(IfIndex);
}

impl Code<IfName> for Native {
    const SHAPE: Shape = Shape::Text;

    fn put(value: &IfName, kind: u16, request: &mut Request) {
        request.text(kind, value.as_bytes());
    }

    fn take(attribute: Attribute<'_>) -> Result<IfName, Malformed> {
        let name = attribute.c_string();
        let malformed = Malformed {
            layer: "link name",
            at: attribute.at,
            need: 1,
            have: name.len(),
        };
        IfName::new(name).map_err(|_| malformed)
    }

    whole!(IfName);
}
