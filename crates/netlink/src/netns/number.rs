use crate::codec::{Malformed, Request, attributes, split};
use crate::error::Subject;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::table::{Entry, Table, attributes as table};
use crate::uapi::{AF_UNSPEC, NLM_F_ACK, RTM_DELNSID, RTM_GETNSID, RTM_NEWNSID, RTNLGRP_NSID};

/// Length of `struct rtgenmsg`, filled up.
const HEADER_BYTES: usize = 4;

table! {
    /// The number by which a namespace calls another, e.g. where a link's other end is.
    ///
    /// Equals `ip netns list-id` and `ip netns set NAME NSID`. A question names the other by a descriptor, a
    /// process or its number. A number stays until its namespace is gone.
    ///
    /// # Source
    /// `rtnl_net_newid` and `rtnl_net_getid`, net/core/net_namespace.c.
    pub struct NamespaceNumber {
        /// The number; −1 asks for a free one, and is told where there is none.
        nsid: i32 = NETNSA_NSID;
        /// A process in the other namespace. Said only.
        pid: u32 = NETNSA_PID;
        /// A descriptor of the other namespace. Said only.
        fd: i32 = NETNSA_FD;
        /// The number of a third namespace, which is asked in place of this. Said only.
        #[serde(rename = "target-nsid")]
        target_nsid: i32 = NETNSA_TARGET_NSID;
        /// The number of the namespace here, where a third one is asked. Told only.
        #[serde(rename = "current-nsid")]
        current_nsid: i32 = NETNSA_CURRENT_NSID;
    }
}

impl Object for NamespaceNumber {
    type Key = i32;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWNSID,
        del: RTM_DELNSID,
        get: RTM_GETNSID,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_NSID];
    const HAS_GET: bool = true;

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let other = self.fd.is_some() || self.pid.is_some();
        let flags = match verb {
            Verb::Add if self.nsid.is_none() || !other => {
                return Err(Unfit::new("a namespace and its number have to be given"));
            }
            Verb::Get if self.nsid.is_none() && !other => {
                return Err(Unfit::new("nothing says which namespace"));
            }
            Verb::Add => NLM_F_ACK,
            Verb::Get | Verb::List => verb.flags(),
            Verb::Replace | Verb::Set | Verb::Append | Verb::Del => {
                return Err(Unfit::new("a namespace keeps its number until it is gone"));
            }
        };
        let header = [AF_UNSPEC; HEADER_BYTES];
        request.begin(Self::MESSAGES.of(verb), flags, &header);
        let asked = Self {
            target_nsid: self.target_nsid,
            ..Self::default()
        };
        Table::put(if verb == Verb::List { &asked } else { self }, request);
        Ok(())
    }

    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (_, rest) = split::<HEADER_BYTES>("namespace header", 0, body)?;
        self.clear();
        for attribute in attributes(rest, HEADER_BYTES) {
            self.take(attribute?)?;
        }
        Ok(true)
    }

    fn key(&self) -> Option<i32> {
        self.nsid
    }

    /// By its number; the rest is not told.
    fn matches(&self, wanted: &Self) -> bool {
        wanted.nsid.is_none() || self.nsid == wanted.nsid
    }

    fn subject(&self) -> Subject {
        match self.nsid {
            Some(nsid) => Subject::NamespaceNumber(nsid),
            None => Subject::NamespaceNumbers,
        }
    }
}
