//! Names of links, for words.

use netlink::table::Lookup;
use netlink::{IfIndex, Netlink};

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
