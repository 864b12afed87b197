//! Host names, resolved by the system in parallel.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use abi::signal::with_signals_blocked;
use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, getaddrinfo};
use probe::targets::Resolver;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

/// Maximum parallel lookups, so that a small resolver is not overloaded.
const MAX_LOOKUPS: usize = 32;

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupFailure {
    /// The resolver says that the name does not exist or has no address.
    NoSuchName,
    /// The resolver did not answer, or not usefully: its message.
    Failed(String),
    /// Its addresses have another family than the requested one, or are excluded.
    NotAccepted,
}

impl fmt::Display for LookupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchName => f.write_str("Name or service not known"),
            Self::Failed(message) => f.write_str(message),
            Self::NotAccepted => {
                f.write_str("no address of the requested family, or all are excluded")
            }
        }
    }
}

pub(super) type Lookup = Result<Vec<IpAddr>, LookupFailure>;

/// Resolves names with getaddrinfo(3). The error of a name that does not exist has the kind `NotFound`.
#[derive(Debug, Default)]
pub struct SystemResolver<'a> {
    lookups: HashMap<&'a str, Lookup>,
}

impl<'a> SystemResolver<'a> {
    /// Looks up all `names` in parallel, each once. Blocks until the last lookup has finished.
    pub fn prefetch(names: Vec<&'a str>) -> Self {
        Self {
            lookups: look_up_all(names),
        }
    }
}

/// Looks up all `names` in parallel, each once. Blocks until the last lookup has finished.
pub(super) fn look_up_all(mut names: Vec<&str>) -> HashMap<&str, Lookup> {
    names.sort_unstable();
    names.dedup();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut lookups = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            lookups.push((*name, look_up(name)));
        }
        lookups
    };
    thread::scope(|scope| {
        let helpers = 1..names.len().min(MAX_LOOKUPS);
        // If no thread can be started, this one does all lookups.
        let start = || thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers = helpers.map_while(|_| with_signals_blocked(start));
        let helpers: Vec<_> = helpers.collect();
        let mut lookups: HashMap<&str, Lookup> = work().into_iter().collect();
        for helper in helpers {
            lookups.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        lookups
    })
}

fn look_up(name: &str) -> Lookup {
    let hints = AddrInfoHints {
        // Without a type each address is returned once for each.
        socktype: libc::SOCK_STREAM,
        ..AddrInfoHints::default()
    };
    let found = getaddrinfo(Some(name), None, Some(hints)).map_err(failure)?;
    let addresses: io::Result<Vec<IpAddr>> =
        found.map(|address| Ok(address?.sockaddr.ip())).collect();
    addresses.map_err(|error| LookupFailure::Failed(error.to_string()))
}

fn failure(error: LookupError) -> LookupFailure {
    if let LookupErrorKind::NoName | LookupErrorKind::NoData = error.kind() {
        return LookupFailure::NoSuchName;
    }
    // The caller says which name cannot be resolved.
    let text = io::Error::from(error).to_string();
    let words = text.strip_prefix("failed to lookup address information: ");
    LookupFailure::Failed(words.unwrap_or(&text).to_owned())
}

impl Resolver for SystemResolver<'_> {
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>> {
        let lookup = self.lookups.get(name).cloned();
        let lookup = lookup.unwrap_or_else(|| look_up(name));
        lookup.map_err(|failure| {
            let kind = match failure {
                LookupFailure::NoSuchName => io::ErrorKind::NotFound,
                _ => io::ErrorKind::Other,
            };
            io::Error::new(kind, failure.to_string())
        })
    }

    fn interface(&mut self, name: &str) -> io::Result<u32> {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        Ok(name_to_index(any, name)?)
    }
}
