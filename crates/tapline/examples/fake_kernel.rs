//! Sets the MTU of all links of a group, `fake_kernel 7 9000`. Its tests need no root: a fake kernel replies.

use std::error::Error;

use tapline::net::{Link, Netlink, NetlinkError};

/// Sets the MTU of all links in `group` and returns how many had another one.
fn set_mtu(netlink: &mut Netlink, group: u32, mtu: u32) -> Result<usize, NetlinkError> {
    let links = netlink.list(&Link::new().group(group))?.items;
    let others = links.iter().filter(|link| link.mtu != Some(mtu));
    let mut changed = 0;
    for link in others {
        netlink.set(&Link::at(link.ifindex()).mtu(mtu))?;
        changed += 1;
    }
    Ok(changed)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("usage: fake_kernel GROUP MTU");
    let (group, mtu) = (word()?.parse()?, word()?.parse()?);
    let mut net = tapline::net().open()?;
    println!("{} links changed", set_mtu(net.netlink(), group, mtu)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use tapline::net::LinkKind;
    use tapline::net::transport::FakeKernel;

    use super::*;

    #[test]
    fn only_links_of_the_group_change() {
        let kernel = FakeKernel::new();
        let mut netlink = kernel.netlink().expect("a socket");
        for (name, group) in [("a", 7), ("b", 7), ("c", 0)] {
            let link = Link::named(name.parse().expect("a name"));
            let link = link.kind(LinkKind::Dummy).group(group).mtu(1500);
            netlink.add(&link).expect("added");
        }
        assert_eq!(set_mtu(&mut netlink, 7, 9000).expect("set"), 2);
        assert_eq!(set_mtu(&mut netlink, 7, 9000).expect("set"), 0);
        let mtu_of = |name| netlink.link_named(name).expect("there").mtu;
        assert_eq!(["a", "b", "c"].map(mtu_of), [9000, 9000, 1500].map(Some));
    }
}
