//! The tables of neighbours, which all namespaces share.

use crate::codec::{Malformed, Message, Request, attributes, split};
use crate::error::{Action, NetlinkError, Subject};
use crate::handle::{Listing, Netlink};
use crate::uapi::{
    AF_UNSPEC, NDTA_CONFIG, NDTA_NAME, NDTA_THRESH1, NDTA_THRESH2, NDTA_THRESH3, RTM_GETNEIGHTBL,
    RTM_NEWNEIGHTBL,
};

const HEADER_BYTES: usize = 4;

/// A table of neighbours, of all namespaces together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeighbourTable {
    /// Its name: `arp_cache` for IPv4, `ndisc_cache` for IPv6.
    pub name: String,
    /// Neighbours above which it is cleared up at times (`gc_thresh1`).
    pub keep: Option<u32>,
    /// Neighbours above which it is cleared up when one comes (`gc_thresh2`).
    pub soft_limit: Option<u32>,
    /// Neighbours it has room for (`gc_thresh3`): to more than that nothing is sent.
    pub limit: Option<u32>,
    /// Neighbours in it.
    pub entries: Option<u32>,
}

impl Netlink {
    /// The tables of neighbours. Equals `ip ntable show`.
    ///
    /// # Errors
    /// [`NetlinkError`] when the kernel's answer is lost or unreadable.
    /// # Source
    /// `neightbl_fill_info`, net/core/neighbour.c.
    #[doc(alias = "RTM_GETNEIGHTBL")]
    pub fn neighbour_tables(&mut self) -> Result<Listing<NeighbourTable>, NetlinkError> {
        let request = Request::dump(RTM_GETNEIGHTBL, &[AF_UNSPEC, 0, 0, 0]);
        let about = NetlinkError::about(Action::List, Subject::NeighbourTables);
        self.list_all(request, parse).map_err(about)
    }
}

/// A table; `None` for the parameters of one interface in it, which come as messages of their own.
fn parse(message: Message<'_>) -> Result<Option<NeighbourTable>, Malformed> {
    if message.kind != RTM_NEWNEIGHTBL {
        return Ok(None);
    }
    let (_, rest) = split::<HEADER_BYTES>("neighbour table header", 0, message.body)?;
    let mut table = NeighbourTable::default();
    let mut is_table = false;
    for attribute in attributes(rest, HEADER_BYTES) {
        let attribute = attribute?;
        match attribute.kind {
            NDTA_NAME => table.name = attribute.text(),
            NDTA_THRESH1 => table.keep = Some(attribute.u32()?),
            NDTA_THRESH2 => table.soft_limit = Some(attribute.u32()?),
            NDTA_THRESH3 => table.limit = Some(attribute.u32()?),
            NDTA_CONFIG => {
                // `struct ndt_config` begins with two lengths of 16 bits and then counts.
                let [_, _, _, _, e0, e1, e2, e3] = attribute.array()?;
                table.entries = Some(u32::from_ne_bytes([e0, e1, e2, e3]));
                is_table = true;
            }
            _ => {}
        }
    }
    Ok(is_table.then_some(table))
}
