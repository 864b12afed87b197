//! Looks up names again at an interval.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use abi::signal::with_signals_blocked;

use super::requests::{Request, TargetRequests};
use crate::ping::resolver::look_up_all;

/// Looks up the names of a run on a thread of its own, and ends with the run.
#[derive(Debug)]
pub struct NameWatch {
    every: Duration,
    is_started: bool,
}

impl NameWatch {
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            is_started: false,
        }
    }

    /// Starts the thread, unless it runs. It has the privileges and the network namespace of the caller.
    pub fn start(&mut self, requests: &Arc<TargetRequests>) -> io::Result<()> {
        if !self.is_started {
            let (every, requests) = (self.every, Arc::clone(requests));
            let name = thread::Builder::new().name("names".into());
            // Not joined: the resolver may take long, and nobody needs its answer at the end of the run.
            with_signals_blocked(|| name.spawn(move || watch(every, &requests)))?;
            self.is_started = true;
        }
        Ok(())
    }
}

/// Until the run is over.
fn watch(every: Duration, requests: &TargetRequests) {
    let mut due = Instant::now() + every;
    while !requests.wait_for_end(due.saturating_duration_since(Instant::now())) {
        due = Instant::now() + every;
        let names = requests.names();
        let words = names.iter().map(|(_, name)| &**name).collect();
        let lookups = look_up_all(words);
        let found = names.iter().filter_map(|named| {
            let lookup = lookups.get(&*named.1)?;
            Some((named.clone(), lookup.clone()))
        });
        // Fails if the run is over, or has not read the lookups of a thousand intervals.
        let _ = requests.add(Request::Lookups(found.collect()));
    }
}
