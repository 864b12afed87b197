//! Names of numbers: of links and network namespaces from the kernel, of tables, groups and the like from
//! iproute2's files.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tapline::net::schema::{NameLookup, NumberNames};
use tapline::net::{IfIndex, Link, LinkKind, NamespaceNames, NamespaceNumber, Netlink, Nexthop};

/// Directories of iproute2's files; the first one that has a file counts.
const DIRECTORIES: [&str; 2] = ["/etc/iproute2", "/usr/share/iproute2"];

/// A cache of names in a network namespace.
#[derive(Debug)]
pub struct Names {
    netlink: Netlink,
    links: HashMap<IfIndex, Option<String>>,
    /// Links without the flag `UP`.
    down: HashSet<IfIndex>,
    /// Names of other namespaces by their nsid.
    namespaces: HashMap<i32, String>,
    /// Numbers of namespaces that had no name when a link with one was printed.
    unnamed: HashSet<i32>,
    nexthops: HashMap<u32, Option<Nexthop>>,
    /// The name looked up last that no link has.
    absent: Option<String>,
}

impl Names {
    pub fn new(netlink: Netlink) -> Self {
        Self {
            netlink,
            links: HashMap::new(),
            down: HashSet::new(),
            namespaces: HashMap::new(),
            unnamed: HashSet::new(),
            nexthops: HashMap::new(),
            absent: None,
        }
    }

    /// Whether the last failed lookup of a link was for `name`.
    pub fn is_absent(&self, name: &str) -> bool {
        self.absent.as_deref() == Some(name)
    }

    /// The name of a link, or `if` and its index as ip(8) writes it.
    pub fn link(&mut self, index: IfIndex) -> String {
        self.name(index).unwrap_or_else(|| format!("if{index}"))
    }

    /// The name of the namespace with this nsid.
    pub fn namespace(&mut self, nsid: i32) -> Option<String> {
        if !self.namespaces.contains_key(&nsid) {
            self.namespaces = namespaces(&mut self.netlink);
        }
        self.namespaces.get(&nsid).cloned()
    }

    /// The same for a link: many links may be in one namespace without a name, which is looked for once.
    pub fn namespace_of_link(&mut self, nsid: i32) -> Option<String> {
        if nsid < 0 || self.unnamed.contains(&nsid) {
            return None;
        }
        let name = self.namespace(nsid);
        if name.is_none() {
            self.unnamed.insert(nsid);
        }
        name
    }

    pub fn forget_namespace(&mut self, nsid: i32) {
        self.namespaces.remove(&nsid);
    }

    /// The nexthop object with this id.
    pub fn nexthop(&mut self, id: u32) -> Option<Nexthop> {
        let netlink = &mut self.netlink;
        let get = || netlink.get(&Nexthop::numbered(id)).ok();
        self.nexthops.entry(id).or_insert_with(get).clone()
    }

    /// The link with this name, or with the index behind `if`: not every name can be typed.
    fn find_link(&mut self, name: &str) -> Option<Link> {
        let index = || name.strip_prefix("if")?.parse().ok().map(IfIndex);
        let link = self.netlink.link_named(name).ok();
        let link = link.or_else(|| self.netlink.link(index()?).ok());
        match &link {
            Some(link) => self.note(link),
            None => self.absent = Some(name.to_owned()),
        }
        link
    }

    /// Empties the cache.
    pub fn forget(&mut self) {
        self.links.clear();
        self.down.clear();
        self.namespaces.clear();
        self.unnamed.clear();
        self.nexthops.clear();
    }

    /// Fills the cache with all links in one request.
    pub fn load(&mut self) {
        if let Ok(listing) = self.netlink.links() {
            listing.items.iter().for_each(|link| self.note(link));
        }
    }

    /// Caches the current name and state of a link.
    pub fn note(&mut self, link: &Link) {
        let index = link.ifindex();
        self.links.insert(index, Some(link.ifname().to_string()));
        if link.flags.is_some_and(|flags| !flags.is_up()) {
            self.down.insert(index);
        } else {
            self.down.remove(&index);
        }
    }

    /// Whether the link exists and is administratively down.
    pub fn is_down(&mut self, index: IfIndex) -> bool {
        index.0 != 0 && self.name(index).is_some() && self.down.contains(&index)
    }
}

impl NameLookup for Names {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        self.find_link(name)?.index
    }

    fn vrf(&mut self, name: &str) -> Option<(IfIndex, u32)> {
        let link = self.find_link(name)?;
        match link.link_kind()? {
            LinkKind::Vrf(vrf) => Some((link.index?, vrf.table?)),
            _ => None,
        }
    }

    fn number(&mut self, names: NumberNames, name: &str) -> Option<u32> {
        let named = iproute2_names(names).iter();
        named.rev().find(|(_, known)| known == name).map(|it| it.0)
    }

    fn number_name(&mut self, names: NumberNames, number: u32) -> Option<String> {
        let mut named = iproute2_names(names).iter().rev();
        named.find(|it| it.0 == number).map(|it| it.1.clone())
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        if let Some(name) = self.links.get(&index) {
            return name.clone();
        }
        match self.netlink.link(index) {
            Ok(link) => self.note(&link),
            Err(_) => _ = self.links.insert(index, None),
        }
        self.links.get(&index).cloned().flatten()
    }
}

/// Names of the namespaces that have an nsid here.
fn namespaces(netlink: &mut Netlink) -> HashMap<i32, String> {
    let named = NamespaceNames::default().list().unwrap_or_default();
    let numbers = named.into_iter().filter_map(|named| {
        let query = NamespaceNumber::new().namespace(named.namespace.into());
        let nsid = netlink.get(&query).ok()?.nsid?;
        (nsid >= 0).then_some((nsid, named.name))
    });
    numbers.collect()
}

/// A file of iproute2, read when it is first needed.
macro_rules! file {
    ($name:literal) => {{
        static NAMED: LazyLock<Vec<(u32, String)>> = LazyLock::new(|| read_names($name));
        &NAMED
    }};
}

/// Numbers and names, those of one of iproute2's files; of two names for a number, the last one counts.
pub fn iproute2_names(names: NumberNames) -> &'static [(u32, String)] {
    match names {
        NumberNames::DsField => file!("rt_dsfield"),
        NumberNames::Group => file!("group"),
        NumberNames::Protocol => file!("rt_protos"),
        NumberNames::Realm => file!("rt_realms"),
        NumberNames::Scope => file!("rt_scopes"),
        NumberNames::Table => file!("rt_tables"),
        _ => &[],
    }
}

/// The numbers and names in a file and in the files `*.conf` of the folder with its name and `.d`.
fn read_names(name: &str) -> Vec<(u32, String)> {
    let files = DIRECTORIES.map(|directory| Path::new(directory).join(name));
    let mut text = String::new();
    if let Some(file) = files.iter().find_map(|file| fs::read_to_string(file).ok()) {
        text += &file;
    }
    for file in files
        .iter()
        .flat_map(|file| additions(&file.with_extension("d")))
    {
        text += "\n";
        text += &fs::read_to_string(file).unwrap_or_default();
    }
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

fn additions(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "conf"))
        .collect();
    files.sort();
    files
}
