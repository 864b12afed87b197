//! Which targets are hosts on a link.

use std::net::IpAddr;

use netlink::Netlink;
use probe::Prober;

use super::error::PingError;

/// Marks the targets within the prefixes of this host's own addresses, whose hardware addresses it has
/// to ask for. Of a few nothing is marked: the kernel has room for them.
pub(super) fn mark(prober: &mut Prober, most: u32) -> Result<(), PingError> {
    let targets = prober.targets().len();
    if targets <= most {
        return Ok(());
    }
    let mut netlink = Netlink::open()?;
    let links = netlink.links()?.items;
    let asks = |index| {
        let link = links.iter().find(|link| link.index == Some(index));
        link.is_some_and(|link| !link.is_loopback())
    };
    let own: Vec<(IpAddr, u8)> = (netlink.addresses()?.items.iter())
        .filter(|own| asks(own.ifindex()))
        .filter_map(|own| own.local.zip(own.prefixlen))
        .collect();
    for target in 0..targets {
        let address = prober.targets().address(target);
        if own
            .iter()
            .any(|(ip, prefix_len)| shares(address, *ip, *prefix_len))
        {
            prober.mark_on_link(target);
        }
    }
    Ok(())
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
