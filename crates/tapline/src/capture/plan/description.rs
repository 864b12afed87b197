//! The description of an interface in a capture file.

use netlink::{IfIndex, Netlink, NetlinkError};
use store::model::{Interface, LinkType};

use super::options::CaptureOptions;

/// The comment of a sampled interface, around the rate.
const SAMPLED: [&str; 2] = ["sampled ", " in the kernel"];

/// The sampling rate, e.g. `1/100`, from the comment of an interface in a capture file; `None` if it is
/// another comment.
pub fn sampling_rate(comment: &str) -> Option<&str> {
    let [before, after] = SAMPLED;
    comment.strip_prefix(before)?.strip_suffix(after)
}

/// Describes the interface of `link`. Unknown fields stay empty.
pub fn interface(
    netlink: &mut Netlink,
    link: &ring::InterfaceInfo,
    options: &CaptureOptions,
) -> Result<Interface, NetlinkError> {
    let known = netlink.link(IfIndex(link.index))?;
    let driver = netlink.driver(known.ifname())?;
    let mut interface = Interface::new(LinkType(link.link_type), options.snaplen);
    interface.name = Some(link.name.clone());
    interface.description.clone_from(&known.alias);
    let text = || Some(options.filter.as_ref()?.text()?.to_owned());
    interface.filter = options.filter_text.clone().or_else(text);
    let [before, after] = SAMPLED;
    let sampled = |sampling| format!("{before}{sampling}{after}");
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
pub fn operating_system() -> String {
    let uname = rustix::system::uname();
    let words = [uname.sysname(), uname.release(), uname.machine()];
    words.map(|word| word.to_string_lossy()).join(" ")
}
