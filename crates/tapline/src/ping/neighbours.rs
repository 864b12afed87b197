//! Which targets are hosts on a link.

use std::net::IpAddr;

use netlink::Netlink;
use probe::Prober;
use probe::targets::Targets;

use super::error::PingError;

/// Marks the targets within the prefixes of this host's own addresses, whose hardware addresses it has
/// to ask for. Of a few nothing is marked: the kernel has room for them.
pub(super) fn mark(prober: &mut Prober, most: u32) -> Result<(), PingError> {
    let Some(own) = own(prober.targets(), most)? else {
        return Ok(());
    };
    for target in 0..prober.targets().len() {
        if is_on_link(prober.targets().address(target), &own) {
            prober.mark_on_link(target);
        }
    }
    Ok(())
}

/// How many [`mark`] would mark.
pub(super) fn count(targets: &Targets, most: u32) -> Result<u32, PingError> {
    let Some(own) = own(targets, most)? else {
        return Ok(0);
    };
    let marked = (0..targets.len()).filter(|target| is_on_link(targets.address(*target), &own));
    Ok(marked.count() as u32)
}

/// The addresses of this host on links with others, with the lengths of their prefixes; `None` when there are
/// so few targets that they do not matter.
fn own(targets: &Targets, most: u32) -> Result<Option<Vec<(IpAddr, u8)>>, PingError> {
    if targets.len() <= most {
        return Ok(None);
    }
    let mut netlink = Netlink::open()?;
    let links = netlink.links()?.items;
    let asks = |index| {
        let link = links.iter().find(|link| link.index == Some(index));
        link.is_some_and(|link| !link.is_loopback())
    };
    let own = (netlink.addresses()?.items.iter())
        .filter(|own| asks(own.ifindex()))
        .filter_map(|own| own.local.zip(own.prefixlen))
        .collect();
    Ok(Some(own))
}

fn is_on_link(address: IpAddr, own: &[(IpAddr, u8)]) -> bool {
    let mut own = own.iter();
    own.any(|(ip, prefix_len)| shares(address, *ip, *prefix_len))
}

/// Whether `address` is another one with the same first `prefix_len` bits as `own`.
fn shares(address: IpAddr, own: IpAddr, prefix_len: u8) -> bool {
    let differing = match (address, own) {
        (IpAddr::V4(address), IpAddr::V4(own)) => {
            (address.to_bits() ^ own.to_bits()).leading_zeros()
        }
        (IpAddr::V6(address), IpAddr::V6(own)) => {
            (address.to_bits() ^ own.to_bits()).leading_zeros()
        }
        _ => return false,
    };
    address != own && differing >= prefix_len.into()
}
