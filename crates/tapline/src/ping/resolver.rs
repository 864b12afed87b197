//! Host names, resolved by the system in parallel.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use probe::targets::Resolver;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

/// Maximum parallel lookups, so that a small resolver is not overloaded.
const MAX_LOOKUPS: usize = 32;

type Lookup = Result<Vec<IpAddr>, String>;

/// Resolves names with getaddrinfo(3).
#[derive(Debug, Default)]
pub struct SystemResolver<'a> {
    lookups: HashMap<&'a str, Lookup>,
}

impl<'a> SystemResolver<'a> {
    /// Looks up all `names` in parallel, each once. Blocks until the last lookup has finished.
    pub fn prefetch(mut names: Vec<&'a str>) -> Self {
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
        let lookups = thread::scope(|scope| {
            let helpers = 1..names.len().min(MAX_LOOKUPS);
            // If no thread can be started, this one does all lookups.
            let helpers =
                helpers.map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
            let helpers: Vec<_> = helpers.collect();
            let mut lookups: HashMap<&str, Lookup> = work().into_iter().collect();
            for helper in helpers {
                lookups.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            lookups
        });
        Self { lookups }
    }
}

fn look_up(name: &str) -> Lookup {
    match (name, 0).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect()),
        Err(error) => {
            // The caller says which name cannot be resolved.
            let text = error.to_string();
            let words = text.strip_prefix("failed to lookup address information: ");
            Err(words.unwrap_or(&text).to_owned())
        }
    }
}

impl Resolver for SystemResolver<'_> {
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>> {
        let lookup = self.lookups.get(name).cloned();
        lookup
            .unwrap_or_else(|| look_up(name))
            .map_err(io::Error::other)
    }

    fn interface(&mut self, name: &str) -> io::Result<u32> {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        Ok(name_to_index(any, name)?)
    }
}
