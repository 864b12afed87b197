//! Route lookups in a fake kernel.

use std::cmp::Reverse;

use rustix::io::Errno;

use crate::header::RouteHeader;
use crate::objects::addr::Scope;
use crate::objects::route::{Route, RouteProtocol, RouteTable, RouteType};
use crate::uapi::RTM_F_FIB_MATCH;
use crate::values::prefix::{Family, Prefix};

/// The tables in the order in which the rules of a new network name them.
const TABLES: [RouteTable; 3] = [RouteTable::Local, RouteTable::Main, RouteTable::Default];

/// The route of the packet that `query`, whose message has `body`, describes. In each table the longest prefix counts, then
/// the type of service, then the lowest metric.
///
/// # Errors
/// ENETUNREACH without a route, and the error of a route that rejects packets.
/// # Source
/// `fib_table_lookup`, net/ipv4/fib\_trie.c; `fib6_table_lookup`, net/ipv6/route.c.
pub(super) fn look_up(routes: &[Route], query: &Route, body: &[u8]) -> Result<Route, Errno> {
    let (header, _) = RouteHeader::split(body).map_err(|_| Errno::INVAL)?;
    let to = query.dst.ok_or(Errno::INVAL)?;
    for table in TABLES {
        let in_table = |route: &&Route| route.table.unwrap_or(RouteTable::Main) == table;
        let matching = routes.iter().filter(in_table);
        let matching = matching.filter(|route| is_for(route, query, to));
        let Some(best) = matching.min_by_key(|route| rank(route)) else {
            continue;
        };
        match best.kind.unwrap_or(RouteType::Unicast) {
            // The next rule, which is for the next table.
            RouteType::Throw => {}
            RouteType::Blackhole => return Err(Errno::INVAL),
            RouteType::Unreachable => return Err(Errno::HOSTUNREACH),
            RouteType::Prohibit => return Err(Errno::ACCESS),
            _ if header.flags & RTM_F_FIB_MATCH != 0 => return Ok(best.clone()),
            _ => return Ok(result(best, to)),
        }
    }
    Err(Errno::NETUNREACH)
}

/// Whether a route is for the packets of a query, which go `to` an address.
fn is_for(route: &Route, query: &Route, to: Prefix) -> bool {
    let tos = route.tos.unwrap_or_default();
    let is_of_tos = tos.0 == 0 || query.tos == Some(tos);
    let is_from = |source: Prefix| query.src.is_some_and(|from| source.contains(from));
    let hops = route.nexthops.as_deref().unwrap_or_default();
    let leaves_by = |dev| route.dev == Some(dev) || hops.iter().any(|hop| hop.dev == Some(dev));
    route.route_key().is_some_and(|key| key.dst.contains(to))
        && is_of_tos
        && route.src.is_none_or(is_from)
        && query.dev.is_none_or(leaves_by)
}

/// The order in which routes are preferred. Of several with the same rank, the kernel uses the first.
fn rank(route: &Route) -> (Reverse<u8>, Reverse<u8>, u32) {
    let key = route.route_key();
    let tos = route.tos.unwrap_or_default().0;
    (
        Reverse(key.map_or(0, |key| key.dst.len)),
        Reverse(tos),
        key.map_or(0, |key| key.metric),
    )
}

/// What the kernel returns for a packet: the way that it takes, by the first of several next hops.
fn result(route: &Route, to: Prefix) -> Route {
    let hop = route.nexthops.as_deref().and_then(<[_]>::first);
    Route {
        kind: route.kind,
        family: Some(Family::of(to.ip)),
        dst: Some(to),
        table: route.table,
        protocol: Some(RouteProtocol::Unspec),
        scope: Some(Scope::Global),
        gateway: route.gateway.or(hop.and_then(|hop| hop.gateway)),
        via: route.via.or(hop.and_then(|hop| hop.via)),
        dev: route.dev.or(hop.and_then(|hop| hop.dev)),
        prefsrc: route.prefsrc,
        ..Route::default()
    }
}
