use super::{Route, RouteProtocol, RouteTable};
use crate::interface::IfIndex;
use crate::prefix::{Family, Prefix};

/// What IPv6 takes for a metric that is not said (include/uapi/linux/ipv6_route.h).
const IP6_RT_PRIO_USER: u32 = 1024;

/// What tells a route from others: the kernel puts one in the place of another of the same.
///
/// Several routes may share it, made by [`append`](crate::Netlink::append): of those a watch knows one, but for
/// next hops of IPv6, which are one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RouteKey {
    /// Its table.
    pub table: RouteTable,
    /// Where it leads.
    pub dst: Prefix,
    /// Where packets come from that it is for.
    pub src: Option<Prefix>,
    /// Type of service of packets that it is for; 0 for any.
    pub tos: u8,
    /// Its metric; 0 is the best.
    pub metric: u32,
    /// The link, of routes that stay on it and stand beside those by other links: in IPv6 all, in IPv4 those
    /// that the kernel makes.
    pub dev: Option<IfIndex>,
}

impl Route {
    /// What tells it from others; `None` without a destination.
    pub fn route_key(&self) -> Option<RouteKey> {
        let dst = self.destination()?;
        let has_hop = self.gateway.is_some() || self.nexthops.is_some() || self.nhid.is_some();
        let is_beside = dst.family() == Family::V6 || self.protocol == Some(RouteProtocol::Kernel);
        Some(RouteKey {
            table: self.table.unwrap_or(RouteTable::Main),
            dst,
            src: self.src,
            tos: self.tos.unwrap_or_default(),
            metric: match self.metric.unwrap_or_default() {
                0 if dst.family() == Family::V6 => IP6_RT_PRIO_USER,
                metric => metric,
            },
            dev: self.dev.filter(|_| is_beside && !has_hop),
        })
    }
}
