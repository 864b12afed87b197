//! The filter of one interface, compiled before any ring is opened.

use std::net::Ipv4Addr;

use filter::classic::ClassicProgram;
use filter::{FilterTarget, FilterWarning, LinkType};
use netlink::{Addr, Family, Link, Netlink, NetlinkError};
use ring::RingOpenError;

use super::backend::Backend;
use super::error::PlanError;
use super::mode::Mode;
use super::options::CaptureOptions;
use crate::packet_filter::{Expression, Filter};

/// Which packets of one interface to capture.
pub(crate) enum InterfacePlan {
    Everything,
    Program(ClassicProgram),
    /// A filter for packets of this link type (`LINKTYPE_*`).
    Filter(u16, Box<filter::Filter>),
}

impl InterfacePlan {
    /// Compiles the filter of `options` for interface `link`.
    pub fn new(
        link: &str,
        options: &CaptureOptions,
        netlink: &mut Netlink,
    ) -> Result<Self, PlanError> {
        match &options.filter {
            None => Ok(Self::Everything),
            Some(Filter::Program(program)) => Ok(Self::Program(program.clone())),
            Some(Filter::Expression(expression)) => {
                let target = match (options.mode, options.backend) {
                    (Mode::Drop, _) | (_, Some(Backend::XdpRingbuf)) => FilterTarget::Xdp,
                    (Mode::Mirror, _) => FilterTarget::Socket,
                };
                Self::compile(expression, target, link, netlink)
            }
        }
    }

    /// Warnings of the filter compiler.
    pub fn warnings(&self) -> &[FilterWarning] {
        match self {
            Self::Filter(_, filter) => filter.warnings(),
            Self::Everything | Self::Program(_) => &[],
        }
    }

    fn compile(
        expression: &Expression,
        target: FilterTarget,
        name: &str,
        netlink: &mut Netlink,
    ) -> Result<Self, PlanError> {
        let link = netlink.link_named(name)?;
        let number = ring::link_type(link.hardware.unwrap_or_default());
        let Some(number) = number else {
            return Err(PlanError::Ring(RingOpenError::LinkLayer {
                link: name.to_owned(),
                hatype: link.hardware.unwrap_or_default(),
            }));
        };
        let link_type = LinkType::from_number(number);
        let mut options = filter::FilterOptions::new(link_type);
        options.target = target;
        options.netmask = Some(netmask(&link, netlink)?);
        match filter::Filter::new(&expression.text, &options, &*expression.names) {
            Ok(filter) => Ok(Self::Filter(number, Box::new(filter))),
            Err(error) => Err(PlanError::Filter {
                link: name.to_owned(),
                link_type,
                error,
            }),
        }
    }
}

/// The netmask of the interface's first IPv4 address; 0.0.0.0 without one, as `pcap_lookupnet` of libpcap.
pub(crate) fn netmask(link: &Link, netlink: &mut Netlink) -> Result<Ipv4Addr, NetlinkError> {
    let of_link = Addr::new().dev(link.ifindex()).family(Family::V4);
    let addresses = netlink.list(&of_link)?;
    let first = addresses.items.first().and_then(|addr| addr.prefixlen);
    let ones = u32::from(first.unwrap_or(0));
    let mask = u32::MAX.checked_shl(32 - ones.min(32)).unwrap_or(0);
    Ok(Ipv4Addr::from_bits(mask))
}
