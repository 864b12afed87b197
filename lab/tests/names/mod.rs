//! Words: names of links, lines, and ip(8) that reads them.

use netlink::table::Lookup;
use netlink::{IfIndex, Netlink};
use tapline_lab::Host;

pub struct Names(pub Netlink);

impl Lookup for Names {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        Some(self.0.link_named(name).ok()?.ifindex())
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        Some(self.0.link(index).ok()?.ifname().to_string())
    }
}

/// The words of a line.
pub fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// What `ip` says to a line.
#[track_caller]
pub fn ip(host: &Host, line: &str) -> String {
    let output = host.command("ip").args(line.split_whitespace()).output();
    let output = output.expect("ip runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {line}: {said}");
    String::from_utf8(output.stdout).expect("text")
}
