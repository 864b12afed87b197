//! What a capture file says of an interface.

use netlink::{IfIndex, Netlink, NetlinkError};
use store::model::{Interface, LinkType};

use super::filter::Filter;
use super::options::Options;

/// Asks the kernel about the interface behind `link`; what it does not tell stays open.
pub(super) fn interface(
    netlink: &mut Netlink,
    link: &ring::Link,
    options: &Options,
) -> Result<Interface, NetlinkError> {
    let known = netlink.link(IfIndex(link.index))?;
    let driver = netlink.driver(known.ifname())?;
    let mut interface = Interface::new(LinkType(link.link_type), options.snaplen);
    interface.name = Some(link.name.clone());
    interface.description.clone_from(&known.alias);
    interface.filter = options.filter_text.clone().or(match &options.filter {
        Some(Filter::Expression(expression)) => Some(expression.text.clone()),
        _ => None,
    });
    let sampled = |sampling| format!("sampled {sampling} in the kernel");
    interface.comment = options.sampling.map(sampled);
    interface.os = Some(operating_system());
    interface.hardware = driver.map(|driver| match driver.bus_info.as_str() {
        "" => driver.name,
        bus => format!("{} ({bus})", driver.name),
    });
    interface.speed_bps = netlink.speed_bps(known.ifname())?;
    interface.mac = known.mac().filter(|_| !link.loopback).map(|mac| mac.0);
    Ok(interface)
}

/// Name, release and machine of the running kernel, as `uname -srm` prints them.
pub(super) fn operating_system() -> String {
    let uname = rustix::system::uname();
    let words = [uname.sysname(), uname.release(), uname.machine()];
    words.map(|word| word.to_string_lossy()).join(" ")
}
