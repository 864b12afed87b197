//! Waits for links and packets.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use netlink::{Event, IfIndex, Link, Netlink, OperState, Prefix, Route, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::host::Host;

/// Time limit for the kernel before the test fails.
const DEADLINE: Duration = Duration::from_secs(10);

/// Waits until the link can carry packets.
#[track_caller]
pub(super) fn until_up(host: &Host, netlink: &mut Netlink, index: IfIndex) {
    let is_up = |link: &Link| link.ifindex() == index && link.state == Some(OperState::Up);
    // The kernel may take a second to notice a new carrier. Recent kernels notice it immediately when the link is
    // queried (`linkwatch_sync_dev`, net/core/link_watch.c).
    if is_up(&netlink.link(index).expect("the link that was made")) {
        return;
    }
    let tells = |watch: &mut Watch<Link>| match watch.try_next().expect("link events")? {
        Event::Added(link) | Event::Changed { after: link, .. } => Some(is_up(&link)),
        _ => Some(false),
    };
    until(&mut host.watch(), tells, "the link is not up");
}

/// Waits until the host of `watch` receives packets for `ip`.
#[track_caller]
pub(super) fn until_received_for(ip: IpAddr, watch: &mut Watch<Route>) {
    let tells = |watch: &mut Watch<Route>| match watch.try_next().expect("route events")? {
        Event::Added(route) => Some(route.is_local() && route.dst == Some(Prefix::host(ip))),
        _ => Some(false),
    };
    until(watch, tells, "the address is not in force");
}

/// Reads events of `watch` until `tells` returns `Some(true)`. `tells` returns `None` if no event is pending.
#[track_caller]
fn until<W: AsFd>(watch: &mut W, tells: impl Fn(&mut W) -> Option<bool>, complaint: &str) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match tells(watch) {
            Some(true) => return,
            Some(false) => {}
            None => {
                let left = deadline.saturating_duration_since(Instant::now());
                let timeout = Timespec::try_from(left).expect("a short time");
                let mut descriptors = [PollFd::new(watch, PollFlags::IN)];
                let ready = poll(&mut descriptors, Some(&timeout)).expect("waiting for events");
                assert!(ready == 1, "{complaint} after {DEADLINE:?}");
            }
        }
    }
}
