//! Prints the IPv4 routes of the main table, and then changes, until the default route is removed.

use tapline::net::{Event, Family, NetlinkError, Prefix, Route, RouteTable};

fn line(route: &Route) -> String {
    let dst = route.dst.map_or(String::new(), Prefix::shown);
    let gateway = route
        .gateway
        .map_or(String::new(), |via| format!(" via {via}"));
    format!("{dst}{gateway}")
}

fn main() -> Result<(), NetlinkError> {
    // A filter is a route with the fields that have to match.
    let main_table = Route::new().family(Family::V4).table(RouteTable::Main);
    let mut watch = tapline::net().open()?.watch(main_table)?;
    loop {
        match watch.next()? {
            Event::Added(route) => println!("added {}", line(&route)),
            Event::Changed { after, .. } => println!("changed {}", line(&after)),
            Event::Removed(route) => {
                println!("removed {}", line(&route));
                if route.dst.is_some_and(Prefix::is_everything) {
                    return Ok(());
                }
            }
            // The differences follow as ordinary events.
            _ => println!("notifications were lost"),
        }
    }
}
