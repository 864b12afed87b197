//! After a netlink overrun a watch resynchronises and reports the difference. Compared with the number of routes that
//! were added, and the kernel's list.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use netlink::{Event, Object, OnError, Prefix, Route, RouteKey, Watch};
use tapline_lab::{Host, Net};

const ROUTES: u32 = 100_000;
const FIRST: u32 = 0x1400_0000;

fn filter() -> Route {
    Route::new().table(100.into())
}

fn route(host: &Host, number: u32, metric: u32) -> Route {
    Route::to(Prefix::host(Ipv4Addr::from_bits(FIRST + number)))
        .table(100.into())
        .gateway(IpAddr::from([10, 1, 0, 2]))
        .dev(host.interface().index)
        .metric(metric)
}

/// Events until there are none, and the state they amount to, from `state`.
fn follow(watch: &mut Watch<Route>, state: &mut HashMap<RouteKey, Route>) -> [usize; 4] {
    let [mut added, mut changed, mut removed, mut overruns] = [0; 4];
    while let Some(event) = watch.try_next().expect("route events") {
        match event {
            Event::Added(route) => {
                added += 1;
                let key = route.key().expect("a destination");
                assert_eq!(state.insert(key, route), None, "it is new");
            }
            Event::Changed { before, after } => {
                changed += 1;
                let key = after.key().expect("a destination");
                assert_eq!(state.insert(key, after), Some(before), "it was so");
            }
            Event::Removed(route) => {
                removed += 1;
                let key = route.key().expect("a destination");
                assert_eq!(state.remove(&key), Some(route), "it was there");
            }
            Event::Overrun => overruns += 1,
            other => panic!("{other:?}"),
        }
    }
    [added, changed, removed, overruns]
}

/// What is known is what was told, and what the kernel lists.
#[track_caller]
fn assert_known(watch: &Watch<Route>, state: &HashMap<RouteKey, Route>, host: &Host) {
    let listed = host.netlink().list(&filter()).expect("routes");
    assert!(!listed.interrupted);
    let keyed = |route: Route| (route.key().expect("a destination"), route);
    let listed: HashMap<_, _> = listed.items.into_iter().map(keyed).collect();
    let known: HashMap<_, _> = watch.known().cloned().map(keyed).collect();
    assert!(known == listed, "{} and {}", known.len(), listed.len());
    assert!(*state == listed, "{} and {}", state.len(), listed.len());
}

#[test]
fn a_burst_beyond_the_buffer_is_reported_as_differences() {
    let [host, _there] = Net::new().pair();
    let mut watch = host.run(|| Watch::open(filter())).expect("a watch");
    let mut state = HashMap::new();
    assert_eq!(follow(&mut watch, &mut state), [0; 4]);
    let mut netlink = host.netlink();

    let mut batch = netlink.batch(OnError::Continue);
    for number in 0..ROUTES {
        batch.add(&route(&host, number, 5));
    }
    assert!(batch.finish().is_done());
    // Nobody has read meanwhile, and the buffer holds a tenth of them.
    let told = follow(&mut watch, &mut state);
    assert_eq!(told, [ROUTES as usize, 0, 0, 1]);
    assert_known(&watch, &state, &host);

    // Each hundredth goes and comes again elsewhere, and each other one changes.
    let elsewhere = IpAddr::from([10, 1, 0, 3]);
    let mut batch = netlink.batch(OnError::Continue);
    for number in 0..ROUTES {
        let old = route(&host, number, 5);
        if number % 100 == 0 {
            batch.del(&old).add(&route(&host, number, 6));
        } else {
            batch.replace(&old.gateway(elsewhere));
        }
    }
    assert!(batch.finish().is_done());
    let told = follow(&mut watch, &mut state);
    let moved = ROUTES as usize / 100;
    assert_eq!(told, [moved, ROUTES as usize - moved, moved, 1]);
    assert_known(&watch, &state, &host);
}

#[test]
fn a_burst_that_is_read_meanwhile_loses_nothing() {
    let [host, _there] = Net::new().pair();
    let mut watch = host.run(|| Watch::open(filter())).expect("a watch");
    let mut state = HashMap::new();
    std::thread::scope(|scope| {
        let burst = scope.spawn(|| {
            let mut netlink = host.netlink();
            let mut batch = netlink.batch(OnError::Continue);
            for number in 0..ROUTES {
                batch.add(&route(&host, number, 5));
            }
            batch.finish().is_done()
        });
        while !burst.is_finished() {
            follow(&mut watch, &mut state);
        }
        assert!(burst.join().expect("a batch"));
    });
    // Those of the last moment.
    follow(&mut watch, &mut state);
    assert_eq!(state.len(), ROUTES as usize);
    assert_known(&watch, &state, &host);
}
