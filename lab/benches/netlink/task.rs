//! The tasks, and the methods that perform each.

use std::net::Ipv4Addr;

use netlink::{IfIndex, Netlink};
use tapline_lab::Host;

use crate::harness::{Column, Report, Spread, column};
use crate::ours::{self, Way};
use crate::peer::{Peers, ip};

const LINKS: u32 = 50;
const BRIDGES: u32 = 10;
pub const ROUTES: u32 = 100_000;
const FEW: u32 = 100;
const PAIRS: u32 = 1000;
/// Dumps per measurement; the median counts.
const DUMPS: u32 = 3;
const FILTERED: u32 = 200;

pub const FIGURE: &str = "figure";
pub const COLUMNS: [Column; 1] = [column(FIGURE, 1.0, 2)];

/// A task that several methods perform.
pub struct Task {
    pub part: &'static str,
    /// Titles of its tables, and the peers' names of the figures.
    figures: &'static [(&'static str, &'static str)],
    /// The peer's task name and count.
    peer: (&'static str, u32),
    /// Converts nanoseconds to the figure.
    figure: fn(f64) -> f64,
    /// The methods, by their names in the table.
    methods: &'static [(&'static str, By)],
    turns: usize,
    /// Sets up the initial state.
    prepare: fn(&mut Netlink, IfIndex),
    /// Restores the namespace after each method.
    reset: fn(&mut Netlink, IfIndex),
}

enum By {
    Peer(&'static str),
    /// Returns nanoseconds for each figure.
    Tapline(fn(&mut Netlink, IfIndex) -> Vec<f64>),
    Ip(&'static [&'static str]),
    /// Runs ip(8) on a batch file for each figure. Holds a function per file that writes one line, and the divisor of
    /// the nanoseconds.
    Batch(&'static [fn(u32) -> String], u32),
}

const LINK_TASK: Task = Task {
    part: "links",
    figures: &[("create a link, us", "create"), ("up a link, us", "up")],
    peer: ("links", LINKS),
    figure: |ns| ns / 1e3,
    methods: &[
        ("raw", By::Peer("raw")),
        (
            "tapline",
            By::Tapline(|netlink, _| ours::links(netlink, LINKS).into()),
        ),
        ("libnl", By::Peer("libnl")),
        ("rtnetlink, awaited", By::Peer("rtnetlink, awaited")),
        ("popen", By::Peer("popen")),
        ("system", By::Peer("system")),
        (
            "ip -batch",
            By::Batch(
                &[
                    |number| format!("link add l{number} group 7 type ifb"),
                    |number| format!("link set l{number} up"),
                ],
                LINKS,
            ),
        ),
    ],
    turns: 1,
    prepare: |_, _| {},
    reset: |netlink, _| {
        ours::delete_group(netlink);
    },
};

const INSERT_TASK: Task = Task {
    part: "inserts",
    figures: &[("100 000 routes, thousands a second", "routes")],
    peer: ("routes", ROUTES),
    figure: |ns| f64::from(ROUTES) / ns * 1e6,
    methods: &[
        ("raw, an answer for 256", By::Peer("raw256")),
        ("tapline batch", By::Tapline(batch)),
        ("raw, an answer for each", By::Peer("raw")),
        (
            "tapline, one by one",
            By::Tapline(|netlink, link| vec![ours::routes(netlink, ROUTES, Way::Gateway(link))]),
        ),
        ("libnl", By::Peer("libnl")),
        ("rtnetlink, flight", By::Peer("rtnetlink, flight")),
        ("rtnetlink, batch", By::Peer("rtnetlink, batch")),
        ("ip -batch", By::Batch(&[route_line], 1)),
    ],
    turns: 1,
    prepare: |_, _| {},
    reset: ours::shake,
};

const DUMP_TASK: Task = Task {
    part: "dumps",
    figures: &[("dump of 100 000 routes, millions a second", "dump")],
    peer: ("dump", DUMPS),
    figure: |ns| f64::from(ROUTES) / ns * 1e3,
    methods: &[
        ("raw", By::Peer("raw")),
        (
            "tapline each",
            By::Tapline(|netlink, _| median_of(DUMPS, ROUTES, || ours::each(netlink, 100))),
        ),
        (
            "tapline list",
            By::Tapline(|netlink, _| median_of(DUMPS, ROUTES, || ours::list(netlink, 100))),
        ),
        ("libnl", By::Peer("libnl")),
        ("rtnetlink, streamed", By::Peer("rtnetlink, streamed")),
        ("ip", By::Ip(&["-4", "route", "show", "table", "100"])),
        (
            "ip -json",
            By::Ip(&["-json", "route", "show", "table", "100"]),
        ),
    ],
    turns: 1,
    prepare: |netlink, link| {
        ours::route_batch(netlink, ROUTES, 100, Way::Gateway(link));
        ours::route_batch(netlink, FEW, 200, Way::Gateway(link));
    },
    reset: |_, _| {},
};

pub const TASKS: [Task; 10] = [
    LINK_TASK,
    Task {
        figures: &[
            ("create a link, by turns, us", "create"),
            ("up a link, by turns, us", "up"),
        ],
        methods: &[
            ("raw", By::Peer("raw")),
            (
                "tapline",
                By::Tapline(|netlink, _| ours::links(netlink, LINKS).into()),
            ),
        ],
        turns: 10,
        ..LINK_TASK
    },
    Task {
        figures: &[("a bridge with MTU, address, two options, up, us", "bridge")],
        peer: ("bridge", BRIDGES),
        methods: &[
            ("raw", By::Peer("raw")),
            (
                "tapline",
                By::Tapline(|netlink, _| vec![ours::bridges(netlink, BRIDGES)]),
            ),
            ("six ip by popen", By::Peer("popen")),
        ],
        ..LINK_TASK
    },
    // With one acknowledgement per 256 routes.
    Task {
        figures: &[("100 000 routes, by turns, thousands a second", "routes")],
        methods: &[
            ("raw", By::Peer("raw256")),
            ("tapline batch", By::Tapline(batch)),
            (
                "tapline batch, add_to_each",
                By::Tapline(|netlink, link| {
                    vec![ours::route_to_each(
                        netlink,
                        ROUTES,
                        100,
                        Way::Gateway(link),
                    )]
                }),
            ),
        ],
        turns: 6,
        ..INSERT_TASK
    },
    Task {
        figures: &[(
            "100 000 routes by nexthop, by turns, thousands a second",
            "routes",
        )],
        peer: ("nhroutes", ROUTES),
        methods: &[
            ("raw", By::Peer("raw256")),
            (
                "tapline batch",
                By::Tapline(|netlink, _| {
                    vec![ours::route_batch(netlink, ROUTES, 100, Way::Nexthop(1))]
                }),
            ),
            (
                "tapline batch, add_to_each",
                By::Tapline(|netlink, _| {
                    vec![ours::route_to_each(netlink, ROUTES, 100, Way::Nexthop(1))]
                }),
            ),
        ],
        turns: 6,
        prepare: ours::add_nexthop,
        reset: |netlink, link| {
            ours::shake(netlink, link);
            ours::add_nexthop(netlink, link);
        },
        ..INSERT_TASK
    },
    INSERT_TASK,
    DUMP_TASK,
    Task {
        part: "deletes",
        figures: &[("1000 veth pairs deleted by group, ms", "delete")],
        peer: ("delete", 1),
        figure: |ns| ns / 1e6,
        methods: &[
            ("raw", By::Peer("raw")),
            (
                "tapline",
                By::Tapline(|netlink, _| vec![ours::delete_group(netlink)]),
            ),
        ],
        prepare: |netlink, _| ours::add_veths(netlink, PAIRS),
        reset: |netlink, _| ours::add_veths(netlink, PAIRS),
        ..LINK_TASK
    },
    Task {
        figures: &[(
            "dump of 100 000 routes, by turns, millions a second",
            "dump",
        )],
        peer: ("dump", 1),
        methods: &[
            ("raw", By::Peer("raw")),
            (
                "tapline each",
                By::Tapline(|netlink, _| median_of(1, ROUTES, || ours::each(netlink, 100))),
            ),
        ],
        turns: 6,
        ..DUMP_TASK
    },
    Task {
        figures: &[("dump of 100 routes of 100 100, us", "filtered")],
        peer: ("filtered", FILTERED),
        figure: |ns| ns / 1e3,
        methods: &[
            ("raw", By::Peer("raw")),
            (
                "tapline list",
                By::Tapline(|netlink, _| median_of(FILTERED, FEW, || ours::list(netlink, 200))),
            ),
            ("ip", By::Ip(&["-4", "route", "show", "table", "200"])),
        ],
        ..DUMP_TASK
    },
];

fn batch(netlink: &mut Netlink, link: IfIndex) -> Vec<f64> {
    vec![ours::route_batch(netlink, ROUTES, 100, Way::Gateway(link))]
}

fn route_line(number: u32) -> String {
    let ip = Ipv4Addr::from_bits(0x1400_0000 + number);
    format!(
        "route add {ip} via {} table 100 proto static",
        ours::GATEWAY
    )
}

/// Reads a table of `routes` routes several times and returns the median in nanoseconds.
fn median_of(times: u32, routes: u32, mut read: impl FnMut() -> (u32, f64)) -> Vec<f64> {
    let read = |_| {
        let (count, ns) = read();
        assert_eq!(count, routes);
        ns
    };
    let times: Vec<_> = (0..times).map(read).collect();
    Spread::of(&times)
        .map(|spread| spread.median)
        .into_iter()
        .collect()
}

impl Task {
    pub fn measure(&self, peers: &Peers, host: &Host, report: &mut Report) {
        let mut netlink = host.netlink();
        let link = host.interface().index;
        (self.prepare)(&mut netlink, link);
        for turn in 0..self.turns {
            // Each method goes first equally often.
            for place in 0..self.methods.len() {
                let (shown, by) = &self.methods[(turn + place) % self.methods.len()];
                let times = self.run(by, peers, host, &mut netlink);
                for ((title, _), ns) in self.figures.iter().zip(times) {
                    report
                        .table(title, &COLUMNS)
                        .add(shown, &[(self.figure)(ns)]);
                }
                (self.reset)(&mut netlink, link);
            }
        }
    }

    /// Returns nanoseconds for each figure; empty if the peer could not be built.
    fn run(&self, by: &By, peers: &Peers, host: &Host, netlink: &mut Netlink) -> Vec<f64> {
        match by {
            By::Peer(method) => {
                let (task, count) = self.peer;
                let printed = peers.run(host, method, task, count);
                let of = |(_, name): &(&str, &str)| {
                    printed
                        .iter()
                        .find(|(printed, _)| printed == name)
                        .map(|(_, ns)| *ns)
                };
                self.figures.iter().filter_map(of).collect()
            }
            By::Tapline(run) => run(netlink, host.interface().index),
            By::Ip(arguments) => vec![ip(host, arguments).as_nanos() as f64],
            By::Batch(lines, parts) => {
                let (_, count) = self.peer;
                let run = |line: &fn(u32) -> String| {
                    let text: String = (0..count).map(|number| line(number) + "\n").collect();
                    let file = peers.file("batch", &text);
                    let took = ip(host, &["-batch", file.to_str().expect("a path of text")]);
                    took.as_nanos() as f64 / f64::from(*parts)
                };
                lines.iter().map(run).collect()
            }
        }
    }
}
