//! The filter of a capture, made for each interface before any ring is opened.

use std::net::Ipv4Addr;

use filter::classic::Program;
use filter::{At, LinkType, Warning};
use netlink::{Addr, Family, Link, Netlink, NetlinkError};
use ring::OpenError;

use super::backend::Backend;
use super::error::CaptureError;
use super::filter::{Expression, Filter};
use super::mode::Mode;
use super::options::Options;

/// What is wanted of one interface's packets.
pub(super) enum Wanted {
    Everything,
    Program(Program),
    /// A filter for packets of this link type (`LINKTYPE_*`).
    Filter(u16, Box<filter::Filter>),
}

impl Wanted {
    /// What is wanted of the packets of `link`.
    pub fn of(link: &str, options: &Options, netlink: &mut Netlink) -> Result<Self, CaptureError> {
        match &options.filter {
            None => Ok(Self::Everything),
            Some(Filter::Program(program)) => Ok(Self::Program(program.clone())),
            Some(Filter::Expression(expression)) => {
                let at = match (options.mode, options.backend) {
                    (Mode::Drop, _) | (_, Some(Backend::XdpRingbuf)) => At::Xdp,
                    (Mode::Mirror, _) => At::Socket,
                };
                Self::compile(expression, at, link, netlink)
            }
        }
    }

    /// What a reader of the filter may not expect of it.
    pub fn warnings(&self) -> &[Warning] {
        match self {
            Self::Filter(_, filter) => filter.warnings(),
            Self::Everything | Self::Program(_) => &[],
        }
    }

    fn compile(
        expression: &Expression,
        at: At,
        name: &str,
        netlink: &mut Netlink,
    ) -> Result<Self, CaptureError> {
        let link = netlink.link_named(name)?;
        let link_type = ring::link_type(link.hardware.unwrap_or_default());
        let known = link_type.and_then(|number| LinkType::from_number(number.into()));
        let (Some(number), Some(known)) = (link_type, known) else {
            return Err(CaptureError::Ring(OpenError::LinkLayer {
                link: name.to_owned(),
                hatype: link.hardware.unwrap_or_default(),
            }));
        };
        let mut options = filter::Options::new(known);
        options.at = at;
        options.netmask = Some(netmask(&link, netlink)?);
        match filter::Filter::new(&expression.text, &options, &*expression.names) {
            Ok(filter) => Ok(Self::Filter(number, Box::new(filter))),
            Err(error) => Err(CaptureError::Filter {
                link: name.to_owned(),
                link_type: known,
                error,
            }),
        }
    }
}

/// The mask of the network of the interface's first IPv4 address; 0.0.0.0 without one, as
/// `pcap_lookupnet` has it for tcpdump.
pub(crate) fn netmask(link: &Link, netlink: &mut Netlink) -> Result<Ipv4Addr, NetlinkError> {
    let of_link = Addr::new().dev(link.ifindex()).family(Family::V4);
    let addresses = netlink.list(&of_link)?;
    let first = addresses.items.first().and_then(|addr| addr.prefixlen);
    let ones = u32::from(first.unwrap_or(0));
    let mask = u32::MAX.checked_shl(32 - ones.min(32)).unwrap_or(0);
    Ok(Ipv4Addr::from_bits(mask))
}
