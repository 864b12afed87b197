use super::data::KindSettings;
use super::veth::Peer;
use crate::error::InvalidRequest;
use crate::link::Link;
use crate::schema::{Arguments, InvalidValue, attribute_set, number_enum};

attribute_set! {
    /// One end of a pair with eBPF programs. Since Linux 6.7.
    ///
    /// Equals `ip link add NAME type netkit [mode l3] [forward] [peer [blackhole] name PEER]`.
    ///
    /// # Source
    /// `netkit_policy` and `netkit_new_link`, drivers/net/netkit.c.
    pub struct Netkit {
        /// The peer. Given only when the pair is created; never reported.
        peer: Box<Link> as Peer = IFLA_NETKIT_PEER_INFO;
        /// Whether this is the primary end, which configures both. Read-only.
        primary: bool = IFLA_NETKIT_PRIMARY;
        /// Whether packets have an Ethernet header; only at creation.
        "mode" mode: NetkitMode = IFLA_NETKIT_MODE;
        /// Policy for packets without a program at this end.
        "policy" policy: NetkitPolicy = IFLA_NETKIT_POLICY;
        /// The same at the peer.
        peer_policy: NetkitPolicy = IFLA_NETKIT_PEER_POLICY;
        /// Which metadata is cleared from packets that leave the namespace; only at creation. Since Linux 6.13.
        "scrub" scrub: NetkitScrub = IFLA_NETKIT_SCRUB;
        /// The same at the peer.
        peer_scrub: NetkitScrub = IFLA_NETKIT_PEER_SCRUB;
        /// Headroom in bytes; only at creation. Since Linux 6.14.
        "headroom" headroom: u16 = IFLA_NETKIT_HEADROOM;
        /// Tailroom in bytes.
        "tailroom" tailroom: u16 = IFLA_NETKIT_TAILROOM;
    }
}

impl KindSettings for Netkit {
    fn check_new(&self) -> Result<(), InvalidRequest> {
        super::veth::check_peer(self.peer.as_deref())
    }

    /// `peer [forward | blackhole] [scrub none] [name] NAME …`, to the end of the line.
    fn parse_special_keyword(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        if word != "peer" {
            return Ok(false);
        }
        loop {
            match words.peek() {
                Some("forward" | "blackhole") => self.peer_policy = Some(words.value(word)?),
                Some("scrub") => {
                    words.next();
                    self.peer_scrub = Some(words.value("scrub")?);
                }
                _ => break,
            }
        }
        self.peer = Some(Box::new(super::veth::parse_peer(words)?));
        Ok(true)
    }
}

number_enum! {
    /// The layer of the packets of a netkit.
    pub enum NetkitMode: u32 {
        /// An Ethernet header.
        L2 = 0, "l2";
        /// An IP header.
        L3 = 1, "l3";
    }
}

number_enum! {
    /// Policy for packets of a netkit without a program.
    pub enum NetkitPolicy: u32, bare {
        /// They pass.
        Forward = 0, "forward";
        /// They are dropped.
        Blackhole = 2, "blackhole";
    }
}

number_enum! {
    /// Which metadata is cleared from packets that leave a namespace.
    pub enum NetkitScrub: u32 {
        /// Nothing.
        None = 0, "none";
        /// Mark and priority.
        Default = 1, "default";
    }
}
