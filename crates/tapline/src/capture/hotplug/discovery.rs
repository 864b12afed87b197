//! Which interfaces there are: follows the named network namespaces and the interfaces in them.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};

use abi::namespace::{NamespaceId, NetNamespace};
use netlink::{Event, IfIndex, Link, Namespace, NamespaceNames, Watch};

use super::super::error::CaptureError;

/// Directories in which namespaces are mounted: those of ip-netns(8) and of Docker.
const FOLDERS: [&str; 2] = ["/run/netns", "/run/docker/netns"];

/// Link events handled per call. Later ones stay available.
const EVENTS_PER_CALL: usize = 4096;

/// Network namespaces to capture in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Namespaces {
    /// The namespace of the calling thread.
    Current,
    /// These, by the names that `ip netns` gives them. The capture ends when all of them have been deleted.
    Named(Vec<String>),
    /// Every named one (`/run/netns`, `/run/docker/netns`), also those that are created later. The namespace of
    /// the calling thread is among them only if it has a name.
    All,
}

/// What has changed.
#[derive(Debug)]
pub enum Change {
    /// An interface came up.
    Up {
        place: InterfacePlace,
        /// Its name there.
        link: String,
        namespace: Option<Namespace>,
        /// The name of its namespace.
        namespace_name: Option<String>,
    },
    /// An interface went down, or it left the namespace.
    Down(InterfacePlace),
    /// A namespace was deleted, or it cannot be watched any more.
    NamespaceGone(Serial),
    /// A namespace cannot be watched.
    Refused { name: String, error: CaptureError },
}

/// Number of a watched namespace: never used again.
pub type Serial = u32;

/// An interface, among those of all watched namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfacePlace {
    pub namespace: Serial,
    pub index: u32,
}

/// Follows namespaces and interfaces.
pub struct Discovery {
    namespaces: Namespaces,
    watched: Vec<WatchedNamespace>,
    /// Signals a change of the mounts; `None` in the current namespace.
    mounts: Option<File>,
    next_serial: Serial,
    /// Namespaces that could not be watched: each is reported once.
    refused: Vec<NamespaceId>,
}

struct WatchedNamespace {
    serial: Serial,
    /// Name, handle and identity; `None` for the current namespace.
    named: Option<(String, Namespace, NamespaceId)>,
    links: Watch<Link>,
}

impl Discovery {
    /// Begins to follow `namespaces`. The interfaces that exist are changes of the first call of
    /// [`changes`](Self::changes).
    ///
    /// # Errors
    /// A namespace of [`Namespaces::Named`] does not exist or cannot be entered.
    pub fn open(namespaces: Namespaces) -> Result<Self, CaptureError> {
        let mut discovery = Self {
            namespaces,
            watched: Vec::new(),
            mounts: None,
            next_serial: 0,
            refused: Vec::new(),
        };
        match &discovery.namespaces {
            Namespaces::Current => {
                let links = Watch::open(Link::default())?;
                discovery.add(None, links);
            }
            Namespaces::Named(names) => {
                for name in names.clone() {
                    let namespace = open_named(&name)?;
                    let id = namespace.id()?;
                    if discovery.is_watched(id) {
                        continue;
                    }
                    let links = Watch::open_in(&namespace, Link::default())?;
                    discovery.add(Some((name, namespace, id)), links);
                }
                discovery.mounts = Some(mounts()?);
            }
            Namespaces::All => discovery.mounts = Some(mounts()?),
        }
        Ok(discovery)
    }

    fn add(&mut self, named: Option<(String, Namespace, NamespaceId)>, links: Watch<Link>) {
        let serial = self.next_serial;
        self.next_serial += 1;
        self.watched.push(WatchedNamespace {
            serial,
            named,
            links,
        });
    }

    fn is_watched(&self, id: NamespaceId) -> bool {
        let mut ids = self.watched.iter().filter_map(WatchedNamespace::id);
        ids.any(|known| known == id)
    }

    /// The namespaces that were named.
    pub fn named(&self) -> &[String] {
        match &self.namespaces {
            Namespaces::Named(names) => names,
            _ => &[],
        }
    }

    /// Whether no namespace is left and none can follow.
    pub fn is_over(&self) -> bool {
        self.watched.is_empty() && self.namespaces != Namespaces::All
    }

    /// Readable by priority (`POLLPRI`) when namespaces may have been created or deleted.
    pub fn mounts(&self) -> Option<BorrowedFd<'_>> {
        self.mounts.as_ref().map(AsFd::as_fd)
    }

    /// For each watched namespace: readable when its interfaces changed.
    pub fn links(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watched.iter().map(|watched| watched.links.as_fd())
    }

    /// What has changed since the last call. Does not wait.
    pub fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        self.follow_namespaces(&mut changes);
        let mut broken = Vec::new();
        for watched in &mut self.watched {
            if let Err(error) = watched.follow_links(&mut changes) {
                let name = watched.name().unwrap_or_default().to_owned();
                let error = CaptureError::Link(error);
                changes.push(Change::Refused { name, error });
                broken.push(watched.serial);
            }
        }
        changes.extend(broken.iter().map(|&serial| Change::NamespaceGone(serial)));
        (self.watched).retain(|watched| !broken.contains(&watched.serial));
        changes
    }

    /// Compares the watched namespaces with those that are mounted.
    fn follow_namespaces(&mut self, changes: &mut Vec<Change>) {
        let Some(mounts) = &mut self.mounts else {
            return;
        };
        // The kernel signals a change once to a descriptor that has been read to its end.
        let mut unread = Vec::new();
        let _ = mounts
            .rewind()
            .and_then(|()| mounts.read_to_end(&mut unread));
        let mounted = mounted();
        self.watched.retain(|watched| {
            let is_mounted = mounted.iter().any(|(_, _, id)| Some(*id) == watched.id());
            if !is_mounted {
                changes.push(Change::NamespaceGone(watched.serial));
            }
            is_mounted
        });
        if self.namespaces != Namespaces::All {
            return;
        }
        for (name, namespace, id) in mounted {
            if self.is_watched(id) || self.refused.contains(&id) {
                continue;
            }
            match Watch::open_in(&namespace, Link::default()) {
                Ok(links) => self.add(Some((name, namespace, id)), links),
                Err(error) => {
                    self.refused.push(id);
                    let error = CaptureError::Link(error);
                    changes.push(Change::Refused { name, error });
                }
            }
        }
    }
}

impl WatchedNamespace {
    fn name(&self) -> Option<&str> {
        self.named.as_ref().map(|(name, ..)| &**name)
    }

    fn id(&self) -> Option<NamespaceId> {
        self.named.as_ref().map(|&(_, _, id)| id)
    }

    fn follow_links(&mut self, changes: &mut Vec<Change>) -> Result<(), netlink::NetlinkError> {
        for _ in 0..EVENTS_PER_CALL {
            let (link, is_there) = match self.links.try_next()? {
                None => break,
                Some(Event::Added(link) | Event::Changed { after: link, .. }) => (link, true),
                Some(Event::Removed(link)) => (link, false),
                Some(_) => continue,
            };
            let Some(IfIndex(index)) = link.index else {
                continue;
            };
            let place = InterfacePlace {
                namespace: self.serial,
                index,
            };
            changes.push(if is_there && link.up == Some(true) {
                Change::Up {
                    place,
                    link: link.ifname().to_string(),
                    namespace: self.named.as_ref().map(|(_, handle, _)| handle.clone()),
                    namespace_name: self.name().map(str::to_owned),
                }
            } else {
                Change::Down(place)
            });
        }
        Ok(())
    }
}

/// The namespaces that are mounted, each under its first name.
fn mounted() -> Vec<(String, Namespace, NamespaceId)> {
    let mut found: Vec<(String, Namespace, NamespaceId)> = Vec::new();
    for folder in FOLDERS {
        // A directory that cannot be listed has no names for this process.
        for named in NamespaceNames::at(folder).list().unwrap_or_default() {
            // Between its creation and its mount, and after its unmount, a name is an empty file.
            if !named.namespace.is_namespace() {
                continue;
            }
            let namespace = Namespace::from(named.namespace);
            let Ok(id) = namespace.id() else { continue };
            if !found.iter().any(|&(_, _, known)| known == id) {
                found.push((named.name, namespace, id));
            }
        }
    }
    found
}

fn open_named(name: &str) -> Result<Namespace, CaptureError> {
    let [first, rest @ ..] = FOLDERS.map(|folder| NamespaceNames::at(folder).get(name));
    let found: Result<NetNamespace, _> = rest.into_iter().fold(first, Result::or);
    match found {
        Ok(namespace) => Ok(Namespace::from(namespace)),
        // The error about the directory of ip-netns(8).
        Err(_) => Ok(Namespace::named(name)?),
    }
}

/// The mounts of this process: signals when namespaces are mounted and unmounted.
///
/// # Source
/// proc_pid_mountinfo(5), proc_pid_mounts(5): poll(2) reports `POLLPRI` after a change.
fn mounts() -> Result<File, CaptureError> {
    let opened = File::open("/proc/self/mountinfo");
    opened.map_err(|source: io::Error| CaptureError::Wait { source })
}
