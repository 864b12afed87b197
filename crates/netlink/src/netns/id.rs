//! Ids of network namespaces (nsid).

use super::Namespace;
use crate::codec::{Malformed, Request, attributes, split};
use crate::error::{InvalidRequest, RequestTarget};
use crate::object::Object;
use crate::schema::{AttributeSet, attribute_set};
use crate::uapi::{AF_UNSPEC, NLM_F_ACK, RTM_NEWNSID, RTNLGRP_NSID};
use crate::verb::{MessageTypes, Verb};

/// Length of `struct rtgenmsg`, filled up.
const HEADER_BYTES: usize = 4;

attribute_set! {
    /// The id that a network namespace has in another one, e.g. for the peer of a link.
    ///
    /// Equals `ip netns list-id` and `ip netns set NAME NSID`. Queries identify the namespace by a handle, a
    /// process or its id. An id lasts as long as its namespace.
    ///
    /// # Source
    /// `rtnl_net_newid` and `rtnl_net_getid`, net/core/net_namespace.c.
    pub struct NamespaceNumber {
        /// The id. In requests −1 selects a free one; in replies −1 means none.
        nsid: i32 = NETNSA_NSID;
        /// A process in the namespace. Write-only.
        pid: u32 = NETNSA_PID;
        /// The namespace. Never reported.
        #[serde(skip)]
        namespace: Namespace = NETNSA_FD;
        /// The id of a third namespace to query instead of this one. Write-only.
        #[serde(rename = "target-nsid")]
        target_nsid: i32 = NETNSA_TARGET_NSID;
        /// The id in this namespace, if a third one was queried. Read-only.
        #[serde(rename = "current-nsid")]
        current_nsid: i32 = NETNSA_CURRENT_NSID;
    }
}

impl Object for NamespaceNumber {
    type Key = i32;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWNSID);
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_NSID];
    const HAS_GET: bool = true;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        let other = self.namespace.is_some() || self.pid.is_some();
        let flags = match verb {
            Verb::Add if self.nsid.is_none() || !other => {
                return Err(InvalidRequest::new("a namespace and its id are required"));
            }
            Verb::Get if self.nsid.is_none() && !other => {
                return Err(InvalidRequest::new("no namespace is given"));
            }
            Verb::Add => NLM_F_ACK,
            Verb::Get | Verb::List => verb.flags(),
            Verb::Replace | Verb::Set | Verb::Append | Verb::Prepend | Verb::Del => {
                return Err(InvalidRequest::new(
                    "the id of a namespace cannot be changed or deleted",
                ));
            }
        };
        let header = [AF_UNSPEC; HEADER_BYTES];
        request.begin(Self::MESSAGES.of(verb), flags, &header);
        let asked = Self {
            target_nsid: self.target_nsid,
            ..Self::default()
        };
        AttributeSet::encode_attributes(if verb == Verb::List { &asked } else { self }, request);
        Ok(())
    }

    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (_, rest) = split::<HEADER_BYTES>("namespace header", 0, body)?;
        self.clear();
        for attribute in attributes(rest, HEADER_BYTES) {
            self.decode_attribute(attribute?)?;
        }
        Ok(true)
    }

    fn key(&self) -> Option<i32> {
        self.nsid
    }

    /// By its id; replies contain nothing else.
    fn matches(&self, wanted: &Self) -> bool {
        wanted.nsid.is_none() || self.nsid == wanted.nsid
    }

    fn target(&self) -> RequestTarget {
        match self.nsid {
            Some(nsid) => RequestTarget::NamespaceNumber(nsid),
            None => RequestTarget::NamespaceNumbers,
        }
    }
}
