//! What a capture file says of an interface.

use netlink::{IfIndex, Netlink, NetlinkError};
use store::model::{Interface, LinkType};

use super::filter::Filter;
use super::options::Options;

/// What stands before and behind the rate of sampling.
const SAMPLED: [&str; 2] = ["sampled ", " in the kernel"];

/// The rate of sampling, as `1/100`, that a capture wrote into a file as the comment of an interface;
/// `None` if it is another comment.
pub fn sampling_told(comment: &str) -> Option<&str> {
    let [before, behind] = SAMPLED;
    comment.strip_prefix(before)?.strip_suffix(behind)
}

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
    let [before, behind] = SAMPLED;
    let sampled = |sampling| format!("{before}{sampling}{behind}");
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
