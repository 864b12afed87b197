//! Where a packet would go.

use std::net::IpAddr;

use super::Route;
use super::header::Header;
use crate::codec::Request;
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::handle::Netlink;
use crate::interface::IfIndex;
use crate::object::{Object, Unfit, read};
use crate::prefix::{Family, Prefix};
use crate::table::{Be, Table, attributes, locate};
use crate::uapi::{RTA_DST, RTA_SRC, RTM_F_FIB_MATCH, RTM_F_LOOKUP_TABLE, RTM_GETROUTE};

attributes! {
    /// A packet, as far as routes are chosen by it.
    ///
    /// Equals the words behind `ip route get`.
    ///
    /// # Source
    /// `inet_rtm_getroute`, net/ipv4/route.c; `inet6_rtm_getroute`, net/ipv6/route.c.
    pub struct RouteQuery {
        @header {
            /// Where it is to go.
            "to" to: IpAddr;
            /// Where it is from.
            #[serde(rename = "from")]
            "from" src: IpAddr;
            /// Its type of service; IPv4 only.
            "tos" tos: u8;
            /// The route as the table has it is asked for, not what follows from it for this packet.
            fibmatch: bool;
        }
        /// The link it came by; without one it is this host's own.
        "iif" iif: IfIndex = RTA_IIF;
        /// The link it is to leave by, or the VRF it is in.
        "oif" oif: IfIndex = RTA_OIF;
        /// Its mark.
        "mark" mark: u32 = RTA_MARK;
        /// The user it is of.
        "uid" uid: u32 = RTA_UID;
        /// Its protocol above IP: 6 TCP, 17 UDP.
        "ipproto" ipproto: u8 = RTA_IP_PROTO;
        /// Its source port.
        "sport" sport: u16 as Be = RTA_SPORT;
        /// Its destination port.
        "dport" dport: u16 as Be = RTA_DPORT;
    }
}

impl RouteQuery {
    /// A packet to `ip` from this host.
    pub fn address(ip: impl Into<IpAddr>) -> Self {
        Self::new().to(ip.into())
    }

    /// The same in a VRF.
    #[must_use]
    pub fn vrf(self, vrf: IfIndex) -> Self {
        self.oif(vrf)
    }

    fn put(&self, request: &mut Request) -> Result<Prefix, Unfit> {
        let to = self
            .to
            .ok_or_else(|| Unfit::new("no address to look up is given"))?;
        let (to, family) = (Prefix::host(to), Family::of(to));
        let from = self.src.map(Prefix::host);
        if from.is_some_and(|from| from.family() != family) {
            return Err(Unfit::new(format!(
                "source and destination {to} are of two families"
            )));
        }
        let matched = if self.fibmatch == Some(true) {
            RTM_F_FIB_MATCH
        } else {
            0
        };
        let header = Header {
            family: family.into(),
            dst_len: to.len,
            src_len: from.map_or(0, |from| from.len),
            tos: self.tos.unwrap_or_default(),
            // IPv6 does not know the flag, and tells the table always.
            flags: matched
                | if family == Family::V4 {
                    RTM_F_LOOKUP_TABLE
                } else {
                    0
                },
            ..Header::default()
        };
        request.begin(RTM_GETROUTE, 0, &header.emit());
        super::verbs::put_ip(RTA_DST, to, request);
        if let Some(from) = from {
            super::verbs::put_ip(RTA_SRC, from, request);
        }
        Table::put(self, request);
        Ok(to)
    }
}

impl Netlink {
    /// Where a packet would go: the link it would leave by is [`Route::dev`], the next hop
    /// [`Route::gateway`], its source address [`Route::prefsrc`]. One question, whatever the number of routes.
    /// Equals `ip route get ADDRESS [from ADDRESS] [iif NAME] [oif NAME] [vrf NAME] [mark MARK]`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENETUNREACH, EHOSTUNREACH, EACCES or EINVAL when the packet would not be sent
    /// on; `Cause::Unfit` when the addresses are not of one family.
    pub fn lookup(&mut self, query: &RouteQuery) -> Result<Route, NetlinkError> {
        let mut request = self.request();
        let found = match query.put(&mut request) {
            Ok(_) => self.socket.ask(&mut request, read::<Route>),
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        let found = found.map_err(|mut cause| {
            if let Cause::Refused(refusal) = &mut cause {
                let (bytes, header) = (request.bytes(), Route::HEADER_BYTES);
                refusal.path = locate(refusal, bytes, header, <Route as Object>::entries());
            }
            let to = query.to.map(Prefix::host);
            let subject = to.map_or(Subject::Routes, Subject::Route);
            NetlinkError::about(Action::Get, subject)(cause)
        });
        self.scratch = request;
        found
    }
}
