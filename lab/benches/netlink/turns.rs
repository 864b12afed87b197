//! tapline and C on a bare socket by turns: they are so near each other that what else the machine does between two
//! turns shows.

use tapline_lab::Net;

use crate::ours::{self, Way};
use crate::peer::Peers;
use crate::table::Table;
use crate::{LINKS, ROUTES};

/// Turns of each in a round with links, and with routes.
const LINK_TURNS: u32 = 10;
const ROUTE_TURNS: usize = 6;

pub fn links(peers: &Peers, table: &mut Table) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let rows = ["create a link, by turns, us", "up a link, by turns, us"];
    for turn in 0..LINK_TURNS {
        for place in 0..2 {
            // Each goes first as often as the other.
            let (method, figures) = if turn % 2 == place {
                let figures = peers.run(&host, "raw", "links", LINKS);
                ("raw", figures.into_iter().map(|(_, ns)| ns).collect())
            } else {
                ("tapline", ours::links(&mut netlink, LINKS).to_vec())
            };
            for (row, ns) in rows.into_iter().zip::<Vec<f64>>(figures) {
                table.add(row, method, ns / 1e3);
            }
            ours::delete_group(&mut netlink);
        }
    }
}

/// 100 000 routes, with an answer of the kernel's for 256.
pub fn inserts(peers: &Peers, table: &mut Table) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let link = host.interface().index;
    let methods = ["raw", "tapline batch", "tapline batch, add_to_each"];
    for (row, task, way) in [
        (
            "100 000 routes, by turns, thousands a second",
            "routes",
            Way::Gateway(link),
        ),
        (
            "100 000 routes by nexthop, by turns, thousands a second",
            "nhroutes",
            Way::Nexthop(1),
        ),
    ] {
        for turn in 0..ROUTE_TURNS {
            for place in 0..methods.len() {
                ours::add_nexthop(&mut netlink, link);
                let method = methods[(turn + place) % methods.len()];
                let ns = match method {
                    "raw" => peers.run(&host, "raw256", task, ROUTES)[0].1,
                    "tapline batch" => ours::route_batch(&mut netlink, ROUTES, 100, way),
                    _ => ours::route_to_each(&mut netlink, ROUTES, 100, way),
                };
                table.add(row, method, f64::from(ROUTES) / ns * 1e6);
                ours::shake(&mut netlink, link);
            }
        }
    }
}

/// The same routes, read.
pub fn dumps(peers: &Peers, table: &mut Table) {
    const ROW: &str = "dump of 100 000 routes, by turns, millions a second";
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let way = Way::Gateway(host.interface().index);
    ours::route_batch(&mut netlink, ROUTES, 100, way);
    for turn in 0..ROUTE_TURNS {
        for place in 0..2 {
            let (method, ns) = if turn % 2 == place {
                let figures = peers.run(&host, "raw", "dump", 1);
                let dump = figures.into_iter().find(|(what, _)| what == "dump");
                ("raw", dump.expect("a dump").1)
            } else {
                let (count, ns) = ours::each(&mut netlink, 100);
                assert_eq!(count, ROUTES);
                ("tapline each", ns)
            };
            table.add(ROW, method, f64::from(ROUTES) / ns * 1e3);
        }
    }
}
