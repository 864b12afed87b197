//! Route lookups.

use crate::header::RouteHeader;
use std::net::IpAddr;

use super::Route;
use super::object::put_ip;
use crate::codec::Request;
use crate::error::{Action, Cause, InvalidRequest, NetlinkError, RequestTarget, reject_if};
use crate::netlink::Netlink;
use crate::object::{Object, decode_reply};
use crate::schema::{AttributeSet, BigEndian, attribute_path, attribute_set};
use crate::uapi::{RTA_DST, RTA_SRC, RTM_F_FIB_MATCH, RTM_F_LOOKUP_TABLE, RTM_GETROUTE};
use crate::values::ds_field::DsField;
use crate::values::interface::IfIndex;
use crate::values::prefix::{Family, Prefix};

attribute_set! {
    /// The properties of a packet that select its route. Equals the arguments of `ip route get`.
    ///
    /// # Source
    /// `inet_rtm_getroute`, net/ipv4/route.c; `inet6_rtm_getroute`, net/ipv6/route.c.
    pub struct RouteQuery {
        @header {
            /// Its destination.
            "to" to: IpAddr;
            /// Its source.
            #[serde(rename = "from")]
            "from" src: IpAddr;
            /// Its type of service; IPv4 only.
            "tos" | "dsfield" tos: DsField;
            /// Return the matching route of the table instead of the result for this packet.
            fibmatch: bool;
        }
        /// Its ingress link. Default: sent by this host.
        "iif" iif: IfIndex = RTA_IIF;
        /// Its egress link or VRF.
        "oif" oif: IfIndex = RTA_OIF;
        /// Its firewall mark.
        "mark" mark: u32 = RTA_MARK;
        /// The user id of its sender.
        "uid" uid: u32 = RTA_UID;
        /// Its protocol above IP: 6 TCP, 17 UDP.
        "ipproto" ipproto: u8 = RTA_IP_PROTO;
        "sport" sport: u16 as BigEndian = RTA_SPORT;
        "dport" dport: u16 as BigEndian = RTA_DPORT;
    }
}

impl RouteQuery {
    /// A packet from this host to `ip`.
    pub fn address(ip: impl Into<IpAddr>) -> Self {
        Self::new().to(ip.into())
    }

    /// Looks up in a VRF.
    #[must_use]
    pub fn vrf(self, vrf: IfIndex) -> Self {
        self.oif(vrf)
    }

    fn put(&self, request: &mut Request) -> Result<Prefix, InvalidRequest> {
        let to = self
            .to
            .ok_or_else(|| InvalidRequest::new("no address to look up is given"))?;
        let (to, family) = (Prefix::host(to), Family::of(to));
        let from = self.src.map(Prefix::host);
        reject_if!(
            from.is_some_and(|from| from.family() != family),
            "source and destination {to} belong to different families"
        );
        let matched = if self.fibmatch == Some(true) {
            RTM_F_FIB_MATCH
        } else {
            0
        };
        let header = RouteHeader {
            family: family.into(),
            dst_len: to.len,
            src_len: from.map_or(0, |from| from.len),
            tos: self.tos.unwrap_or_default().0,
            // IPv6 always reports the table and ignores the flag.
            flags: matched
                | if family == Family::V4 {
                    RTM_F_LOOKUP_TABLE
                } else {
                    0
                },
            ..RouteHeader::default()
        };
        request.begin(RTM_GETROUTE, 0, &header.emit());
        put_ip(RTA_DST, to, request);
        if let Some(from) = from {
            put_ip(RTA_SRC, from, request);
        }
        AttributeSet::encode_attributes(self, request);
        Ok(to)
    }
}

impl Netlink {
    /// Looks up the route of a packet: egress link [`Route::dev`], next hop [`Route::gateway`], source address
    /// [`Route::prefsrc`]. One request, regardless of the number of routes.
    /// Equals `ip route get ADDRESS [from ADDRESS] [iif NAME] [oif NAME] [vrf NAME] [mark MARK]`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENETUNREACH, EHOSTUNREACH, EACCES or EINVAL if there is no route;
    /// `Cause::Invalid` if the addresses belong to different families.
    pub fn lookup(&mut self, query: &RouteQuery) -> Result<Route, NetlinkError> {
        let mut request = self.request();
        let found = match query.put(&mut request) {
            Ok(_) => self.socket.query(&mut request, decode_reply::<Route>),
            Err(unfit) => Err(Cause::Invalid(unfit)),
        };
        let found = found.map_err(|mut cause| {
            if let Cause::Refused(refusal) = &mut cause {
                let (bytes, header) = (request.bytes(), Route::HEADER_BYTES);
                refusal.path =
                    attribute_path(refusal, bytes, header, <Route as Object>::attributes());
            }
            let to = query.to.map(Prefix::host);
            let subject = to.map_or(RequestTarget::Routes, RequestTarget::Route);
            NetlinkError::about(Action::Get, subject)(cause)
        });
        self.scratch = request;
        found
    }
}
