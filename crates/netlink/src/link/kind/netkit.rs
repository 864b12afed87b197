use super::data::Data;
use super::veth::Peer;
use crate::link::Link;
use crate::object::Unfit;
use crate::table::{BadWord, Words, attributes, names};

attributes! {
    /// One end of a pair whose packets an eBPF program decides about. Since Linux 6.7.
    ///
    /// Equals `ip link add NAME type netkit [mode l3] [forward] [peer [blackhole] name PEER]`.
    ///
    /// # Source
    /// `netkit_policy` and `netkit_new_link`, drivers/net/netkit.c.
    pub struct Netkit {
        /// The other end; only said when a pair is made, the kernel does not tell it.
        peer: Box<Link> as Peer = IFLA_NETKIT_PEER_INFO;
        /// Whether this end is the one that configures both. Told only.
        primary: bool = IFLA_NETKIT_PRIMARY;
        /// What its packets begin with; only when a pair is made.
        "mode" mode: NetkitMode = IFLA_NETKIT_MODE;
        /// What happens to packets while there is no program at this end.
        "policy" policy: NetkitPolicy = IFLA_NETKIT_POLICY;
        /// What happens to them at the other.
        peer_policy: NetkitPolicy = IFLA_NETKIT_PEER_POLICY;
        /// What is cleared of a packet that leaves the namespace here; only when a pair is made. Since Linux 6.13.
        "scrub" scrub: NetkitScrub = IFLA_NETKIT_SCRUB;
        /// The same at the other end.
        peer_scrub: NetkitScrub = IFLA_NETKIT_PEER_SCRUB;
        /// Bytes kept free before packets; only when a pair is made. Since Linux 6.14.
        "headroom" headroom: u16 = IFLA_NETKIT_HEADROOM;
        /// Bytes kept free behind them.
        "tailroom" tailroom: u16 = IFLA_NETKIT_TAILROOM;
    }
}

impl Data for Netkit {
    fn check_new(&self) -> Result<(), Unfit> {
        super::veth::check_peer(self.peer.as_deref())
    }

    /// `peer [forward | blackhole] [scrub none] [name] NAME …`, to the end of the line.
    fn more_words(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
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
        self.peer = Some(Box::new(super::veth::peer_of(words)?));
        Ok(true)
    }
}

names! {
    /// What the packets of a netkit begin with.
    pub enum NetkitMode: u32 {
        /// An Ethernet header.
        L2 = 0, "l2";
        /// An IP header.
        L3 = 1, "l3";
    }
}

names! {
    /// What happens to packets of a netkit without a program.
    pub enum NetkitPolicy: u32, bare {
        /// They pass.
        Forward = 0, "forward";
        /// They are dropped.
        Blackhole = 2, "blackhole";
    }
}

names! {
    /// What is cleared of packets that leave a namespace.
    pub enum NetkitScrub: u32 {
        /// Nothing.
        None = 0, "none";
        /// Mark and priority.
        Default = 1, "default";
    }
}
