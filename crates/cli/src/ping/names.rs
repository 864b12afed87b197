//! Names of targets, looked up side by side.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use tapline::probe::targets::Resolver;

/// Lookups at a time: no more than a small resolver bears.
const MOST_LOOKUPS: usize = 32;

/// What the system says of a name.
type Answer = Result<Vec<IpAddr>, String>;

/// Names and what the system says of them.
pub struct Names<'a> {
    answers: HashMap<&'a str, Answer>,
}

impl<'a> Names<'a> {
    /// Asks the system for all of `names`, each once. Blocks until the last is answered, or the resolver has given up.
    pub fn look_up(mut names: Vec<&'a str>) -> Self {
        names.sort_unstable();
        names.dedup();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut answers = Vec::new();
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push((*name, ask(name)));
            }
            answers
        };
        let answers = thread::scope(|scope| {
            let helpers = 1..names.len().min(MOST_LOOKUPS);
            // Without further threads this one does it all.
            let helpers =
                helpers.map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
            let helpers: Vec<_> = helpers.collect();
            let mut answers: HashMap<&str, Answer> = work().into_iter().collect();
            for helper in helpers {
                answers.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            answers
        });
        Self { answers }
    }
}

/// Asks getaddrinfo(3).
fn ask(name: &str) -> Answer {
    match (name, 0).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect()),
        Err(error) => {
            // The standard library says first what has been said already.
            let text = error.to_string();
            let words = text.strip_prefix("failed to lookup address information: ");
            Err(words.unwrap_or(&text).to_owned())
        }
    }
}

impl Resolver for Names<'_> {
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>> {
        let answer = self.answers.get(name).cloned();
        answer
            .unwrap_or_else(|| ask(name))
            .map_err(io::Error::other)
    }

    fn interface(&mut self, name: &str) -> io::Result<u32> {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        Ok(name_to_index(any, name)?)
    }
}
