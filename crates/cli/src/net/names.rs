//! What numbers are called: links by the kernel, tables and the like by iproute2's files.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

use netlink::table::Lookup;
use netlink::{IfIndex, Link, LinkKind, NamespaceNames, NamespaceNumber, Netlink, Nexthop};

/// The folders of iproute2's files, of which the first that has one counts.
const FOLDERS: [&str; 2] = ["/etc/iproute2", "/usr/share/iproute2"];

/// Names of a namespace's links, asked for once.
#[derive(Debug)]
pub struct Names {
    netlink: Netlink,
    known: HashMap<IfIndex, Option<String>>,
    /// Links that an administrator has not set up.
    down: HashSet<IfIndex>,
    /// Those of namespaces, by the numbers they have here.
    namespaces: HashMap<i32, String>,
    /// Nexthop objects by their numbers; what is not there is none.
    nexthops: HashMap<u32, Option<Nexthop>>,
    /// The name asked for last that no link has.
    absent: Option<String>,
}

impl Names {
    pub fn new(netlink: Netlink) -> Self {
        Self {
            netlink,
            known: HashMap::new(),
            down: HashSet::new(),
            namespaces: HashMap::new(),
            nexthops: HashMap::new(),
            absent: None,
        }
    }

    /// Whether `name` has been looked up, and no link has it.
    pub fn is_absent(&self, name: &str) -> bool {
        self.absent.as_deref() == Some(name)
    }

    /// The name of the namespace that has this number, if it has one.
    pub fn namespace(&mut self, nsid: i32) -> Option<String> {
        if !self.namespaces.contains_key(&nsid) {
            self.namespaces = numbers(&mut self.netlink);
        }
        self.namespaces.get(&nsid).cloned()
    }

    /// The nexthop object of this number, if there is one.
    pub fn nexthop(&mut self, id: u32) -> Option<Nexthop> {
        let netlink = &mut self.netlink;
        let ask = || netlink.get(&Nexthop::numbered(id)).ok();
        self.nexthops.entry(id).or_insert_with(ask).clone()
    }

    /// Forgets the name of a namespace that is no more.
    pub fn forget_namespace(&mut self, nsid: i32) {
        self.namespaces.remove(&nsid);
    }

    /// The link of this name; or of the index behind `if`, as ip(8) has it: not every name can be typed.
    fn called(&mut self, name: &str) -> Option<Link> {
        let index = || name.strip_prefix("if")?.parse().ok().map(IfIndex);
        let link = self.netlink.link_named(name).ok();
        let link = link.or_else(|| self.netlink.link(index()?).ok());
        match &link {
            Some(link) => self.note(link),
            None => self.absent = Some(name.to_owned()),
        }
        link
    }

    /// Forgets what everything is called: it may have changed.
    pub fn forget(&mut self) {
        self.known.clear();
        self.down.clear();
        self.namespaces.clear();
        self.nexthops.clear();
    }

    /// Asks for all links at once.
    pub fn load(&mut self) {
        if let Ok(listing) = self.netlink.links() {
            listing.items.iter().for_each(|link| self.note(link));
        }
    }

    /// Notes a link's name, or its new one.
    pub fn note(&mut self, link: &Link) {
        let index = link.ifindex();
        self.known.insert(index, Some(link.ifname().to_string()));
        if link.flags.is_some_and(|flags| !flags.is_up()) {
            self.down.insert(index);
        } else {
            self.down.remove(&index);
        }
    }

    /// Whether nobody has set up the link with this index.
    pub fn is_down(&mut self, index: IfIndex) -> bool {
        index.0 != 0 && self.name(index).is_some() && self.down.contains(&index)
    }
}

impl Lookup for Names {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        self.called(name)?.index
    }

    fn vrf(&mut self, name: &str) -> Option<(IfIndex, u32)> {
        let link = self.called(name)?;
        match link.link_kind()? {
            LinkKind::Vrf(vrf) => Some((link.index?, vrf.table?)),
            _ => None,
        }
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        if let Some(name) = self.known.get(&index) {
            return name.clone();
        }
        match self.netlink.link(index) {
            Ok(link) => self.note(&link),
            Err(_) => _ = self.known.insert(index, None),
        }
        self.known.get(&index).cloned().flatten()
    }
}

/// The names of namespaces by their numbers; those without a number are left out.
fn numbers(netlink: &mut Netlink) -> HashMap<i32, String> {
    let named = NamespaceNames::default().list().unwrap_or_default();
    let numbers = named.into_iter().filter_map(|named| {
        let asked = NamespaceNumber::new().fd(named.namespace.as_fd().as_raw_fd());
        let nsid = netlink.get(&asked).ok()?.nsid?;
        Some((nsid, named.name)).filter(|_| nsid >= 0)
    });
    numbers.collect()
}

/// Numbers and names of one of iproute2's files: `rt_tables`, `group`, `rt_protos` …; without such a file
/// there are none.
pub fn file(name: &str) -> Vec<(u32, String)> {
    let text = FOLDERS
        .iter()
        .find_map(|folder| fs::read_to_string(format!("{folder}/{name}")).ok());
    let text = text.unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let number = words.next()?;
        let number = match number.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        Some((number, words.next()?.to_owned()))
    });
    lines.collect()
}
