//! Measures how long a watch takes to be up to date after a burst of changes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use netlink::{Netlink, Object, Route, RouteKey, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline_lab::Host;

use crate::ours::{self, Way};

/// When the watch is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// After the burst: events that did not fit into its buffer are lost.
    Afterwards,
    /// During the burst, on a separate thread.
    Meanwhile,
}

const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Adds `count` routes in one batch. Returns the nanoseconds from the end of the batch until the watch has no more
/// events. Its state must then equal a fresh dump.
pub fn settle(host: &Host, count: u32, reader: Reader) -> f64 {
    let way = Way::Gateway(host.interface().index);
    let filter = Route::new().table(100.into());
    let mut watch = host.run(|| Watch::open(filter.clone())).expect("a watch");
    let mut netlink = host.netlink();
    let is_over = AtomicBool::new(false);
    let burst = |netlink: &mut Netlink| {
        ours::route_batch(netlink, count, 100, way);
        let end = Instant::now();
        is_over.store(true, Ordering::Release);
        end
    };
    let (begin, end) = std::thread::scope(|scope| {
        if reader == Reader::Afterwards {
            let begin = burst(&mut netlink);
            (begin, settled(&mut watch, &is_over))
        } else {
            let burst = scope.spawn(|| burst(&mut netlink));
            let end = settled(&mut watch, &is_over);
            (burst.join().expect("a batch"), end)
        }
    });
    let there = netlink.list(&filter).expect("routes").items;
    let known: HashMap<RouteKey, &Route> = watch
        .known()
        .filter_map(|route| Some((route.key()?, route)))
        .collect();
    assert_eq!((known.len(), there.len()), (count as usize, count as usize));
    for route in &there {
        let key = route.key().expect("a destination");
        assert_eq!(known.get(&key), Some(&route));
    }
    end.duration_since(begin).as_nanos() as f64
}

/// Reads until the burst is over and no events are left.
fn settled(watch: &mut Watch<Route>, is_over: &AtomicBool) -> Instant {
    loop {
        let over = is_over.load(Ordering::Acquire);
        while watch.try_next().expect("route events").is_some() {}
        if over {
            return Instant::now();
        }
        poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&MOMENT)).expect("polled");
    }
}
