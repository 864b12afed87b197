//! The description of an interface in a capture file.

use netlink::{IfIndex, Netlink, NetlinkError};
use store::model::{Interface, LinkType};

use super::super::stamping::Stamping;
use super::options::CaptureOptions;
use ring::TimestampSource;

/// The comment of a sampled interface, around the rate.
const SAMPLED: [&str; 2] = ["sampled ", " in the kernel"];

/// Between the parts of a comment.
const SEPARATOR: &str = "; ";

/// The sampling rate, e.g. `1/100`, from the comment of an interface in a capture file; `None` if it has none.
pub fn sampling_rate(comment: &str) -> Option<&str> {
    let [before, after] = SAMPLED;
    let mut parts = comment.split(SEPARATOR);
    parts.find_map(|part| part.strip_prefix(before)?.strip_suffix(after))
}

/// The source of time stamps, in the comment of an interface, unless it is the kernel.
fn stamped(stamping: &Stamping) -> Option<String> {
    match (stamping.source, stamping.clock) {
        (TimestampSource::Kernel, _) => None,
        (TimestampSource::Hardware, Some(clock)) => Some(format!(
            "time stamps: hardware, ptp{clock} converted to UTC by its measured offset and drift"
        )),
        (source, _) => Some(format!("time stamps: {}", source.name())),
    }
}

/// Describes the interface of `link`. Unknown fields stay empty.
pub fn interface(
    netlink: &mut Netlink,
    link: &ring::InterfaceInfo,
    options: &CaptureOptions,
    stamping: &Stamping,
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
    let parts = [options.sampling.map(sampled), stamped(stamping)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    interface.comment = (!parts.is_empty()).then(|| parts.join(SEPARATOR));
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
