use super::{Route, RouteTable};
use crate::prefix::Prefix;

/// What tells a route from others: the kernel puts one in the place of another of the same.
///
/// Several routes may share it, made by [`append`](crate::Netlink::append) or by the kernel itself.
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
}

impl Route {
    /// What tells it from others; `None` without a destination.
    pub fn route_key(&self) -> Option<RouteKey> {
        Some(RouteKey {
            table: self.table.unwrap_or(RouteTable::Main),
            dst: self.destination()?,
            src: self.src,
            tos: self.tos.unwrap_or_default(),
            metric: self.metric.unwrap_or_default(),
        })
    }
}
