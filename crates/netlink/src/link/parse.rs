use super::header::Header;
use super::{LinkFlags, LinkStatistics, OperState};
use crate::codec::{Attribute, Malformed, Message, attributes};
use crate::interface::{IfIndex, IfName, MacAddress};
use crate::uapi::{
    AF_UNSPEC, IFLA_ADDRESS, IFLA_ALT_IFNAME, IFLA_IFALIAS, IFLA_IFNAME, IFLA_INFO_KIND, IFLA_LINK,
    IFLA_LINKINFO, IFLA_MASTER, IFLA_MTU, IFLA_NUM_RX_QUEUES, IFLA_NUM_TX_QUEUES, IFLA_OPERSTATE,
    IFLA_PROMISCUITY, IFLA_PROP_LIST, IFLA_STATS64, RTM_NEWLINK,
};

/// A network interface.
///
/// What the kernel did not tell is `None` (or empty, for a list).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// Its index.
    pub index: IfIndex,
    /// Its name.
    pub name: IfName,
    /// Its alternative names, which may be longer.
    pub alternative_names: Vec<String>,
    /// What it is for, in the administrator's words.
    pub alias: Option<String>,
    /// Hardware type (`ARPHRD_*`): 1 Ethernet, 772 loopback.
    pub hardware: u16,
    /// Its flags.
    pub flags: LinkFlags,
    /// Its operational state.
    pub state: Option<OperState>,
    /// Bytes of the longest packet, without the link-layer header.
    pub mtu: Option<u32>,
    /// What software made it (`veth`, `bridge`, `vlan` …); physical ones have no kind.
    pub kind: Option<String>,
    /// Its hardware address, where that has the 6 bytes of Ethernet.
    pub mac: Option<MacAddress>,
    /// The link it belongs to: its bridge, bond or VRF.
    pub master: Option<IfIndex>,
    /// The link it is made on, or a veth's other end. That one's namespace may be another.
    pub lower: Option<IfIndex>,
    /// How many times it has been made promiscuous, by captures as well.
    pub promiscuity: Option<u32>,
    /// Receive queues.
    pub rx_queue_count: Option<u32>,
    /// Transmit queues.
    pub tx_queue_count: Option<u32>,
    /// Its counters.
    pub statistics: Option<LinkStatistics>,
}

impl Link {
    /// Reads the body of an `RTM_NEWLINK` or `RTM_DELLINK`; attributes it does not know are passed over.
    ///
    /// # Errors
    /// [`Malformed`] when the message ends too early or has no valid name.
    /// # Source
    /// `rtnl_fill_ifinfo`, net/core/rtnetlink.c.
    pub fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let (header, rest) = Header::split(body)?;
        let mut link = Self::unknown(header);
        let mut named = false;
        for attribute in attributes(rest, Header::BYTES) {
            let attribute = attribute?;
            if attribute.kind == IFLA_IFNAME {
                link.name = name(attribute)?;
                named = true;
            } else {
                link.read(attribute)?;
            }
        }
        let nameless = Malformed {
            layer: "link name",
            at: Header::BYTES,
            need: 1,
            have: 0,
        };
        if named { Ok(link) } else { Err(nameless) }
    }

    fn unknown(header: Header) -> Self {
        Self {
            index: IfIndex(header.index),
            name: IfName::UNKNOWN,
            alternative_names: Vec::new(),
            alias: None,
            hardware: header.hardware,
            flags: LinkFlags(header.flags),
            state: None,
            mtu: None,
            kind: None,
            mac: None,
            master: None,
            lower: None,
            promiscuity: None,
            rx_queue_count: None,
            tx_queue_count: None,
            statistics: None,
        }
    }

    fn read(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match attribute.kind {
            IFLA_ADDRESS => self.mac = attribute.bytes.try_into().ok().map(MacAddress),
            IFLA_MTU => self.mtu = Some(attribute.u32()?),
            IFLA_LINK => self.lower = index(attribute)?,
            IFLA_MASTER => self.master = index(attribute)?,
            IFLA_OPERSTATE => self.state = Some(attribute.u8()?.into()),
            IFLA_IFALIAS => self.alias = Some(attribute.text()),
            IFLA_STATS64 => self.statistics = Some(LinkStatistics::parse(attribute)?),
            IFLA_PROMISCUITY => self.promiscuity = Some(attribute.u32()?),
            IFLA_NUM_RX_QUEUES => self.rx_queue_count = Some(attribute.u32()?),
            IFLA_NUM_TX_QUEUES => self.tx_queue_count = Some(attribute.u32()?),
            IFLA_LINKINFO => {
                for attribute in attribute.attributes() {
                    let attribute = attribute?;
                    if attribute.kind == IFLA_INFO_KIND {
                        self.kind = Some(attribute.text());
                    }
                }
            }
            IFLA_PROP_LIST => {
                for attribute in attribute.attributes() {
                    let attribute = attribute?;
                    if attribute.kind == IFLA_ALT_IFNAME {
                        self.alternative_names.push(attribute.text());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The link in a message that adds or changes one; `None` for other messages, and for those in which
/// a protocol family speaks of its part of a link (a bridge of a port).
pub(crate) fn link_message(message: Message<'_>) -> Result<Option<Link>, Malformed> {
    if message.kind != RTM_NEWLINK || message.body.first() != Some(&AF_UNSPEC) {
        return Ok(None);
    }
    Link::parse(message.body).map(Some)
}

fn name(attribute: Attribute<'_>) -> Result<IfName, Malformed> {
    let name = attribute.c_string();
    let malformed = Malformed {
        layer: "link name",
        at: attribute.at,
        need: 1,
        have: name.len(),
    };
    IfName::new(name).map_err(|_| malformed)
}

fn index(attribute: Attribute<'_>) -> Result<Option<IfIndex>, Malformed> {
    let index = attribute.u32()?;
    Ok((index != 0).then_some(IfIndex(index)))
}
