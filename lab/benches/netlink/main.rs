//! What configuring the kernel costs: tapline beside a raw loop in C, libnl3, the crate rtnetlink and processes
//! of ip(8).
//!
//! `cargo bench -p tapline-lab --bench netlink -- [--rounds N | --quick]` needs root, a C compiler, libnl3 and
//! iproute2; rtnetlink is left out, and that said, where cargo cannot build it.
//!
//! All happens in a namespace made for it. In each round the peers take turns at each task, so that whatever
//! else the machine does falls on all of them; a task begins with the namespace as it was. Links are of kind
//! `ifb`, which every kernel has that has network namespaces; a figure of links is the median of a round.

#![forbid(unsafe_code)]

mod burst;
#[path = "../harness/mod.rs"]
mod harness;
mod ours;
mod peer;
mod table;
mod turns;

use std::process::ExitCode;

use harness::{BenchOptions, Machine};
use ours::Way;
use peer::{Peers, ip};
use table::Table;
use tapline_lab::Net;

const LINKS: u32 = 50;
const BRIDGES: u32 = 10;
const ROUTES: u32 = 100_000;
const FEW: u32 = 100;
const MANY_ROUTES: u32 = 1_000_000;
const PAIRS: u32 = 1000;
/// Filtered dumps in a round, of which the median counts.
const FILTERED: u32 = 200;

fn main() -> ExitCode {
    harness::run(7, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    let peers = Peers::build();
    let mut table = Table::default();
    for _ in options.each_round() {
        links(&peers, &mut table);
        turns::links(&peers, &mut table);
        turns::inserts(&peers, &mut table);
        turns::dumps(&peers, &mut table);
        inserts(&peers, &mut table);
        dumps(&peers, &mut table);
        deletes(&peers, &mut table);
        bursts(&mut table);
    }
    println!(
        "{}; {} rounds; median (least–most)\n",
        Machine::find().line(),
        options.rounds
    );
    table.print();
    if let Err(reason) = &peers.rtnetlink {
        println!("\nrtnetlink is not here, for it cannot be built: {reason}");
    }
    stream();
    ExitCode::SUCCESS
}

fn links(peers: &Peers, table: &mut Table) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    for method in ["raw", "libnl", "rtnetlink, awaited", "popen", "system"] {
        for (what, ns) in peers.run(&host, method, "links", LINKS) {
            table.add(&format!("{what} a link, us"), method, ns / 1e3);
        }
        ours::delete_group(&mut netlink);
        if method == "raw" {
            let [create, up] = ours::links(&mut netlink, LINKS);
            table.add("create a link, us", "tapline", create / 1e3);
            table.add("up a link, us", "tapline", up / 1e3);
            ours::delete_group(&mut netlink);
        }
    }
    for (what, form) in [
        ("create", "link add l{} group 7 type ifb"),
        ("up", "link set l{} up"),
    ] {
        let lines = (0..LINKS).map(|number| form.replace("{}", &number.to_string()) + "\n");
        let file = peers.file("batch", &lines.collect::<String>());
        let took = ip(&host, &["-batch", file.to_str().expect("a path of text")]);
        let each = took.as_secs_f64() * 1e6 / f64::from(LINKS);
        table.add(&format!("{what} a link, us"), "ip -batch", each);
    }
    ours::delete_group(&mut netlink);
    for method in ["raw", "popen"] {
        for (_, ns) in peers.run(&host, method, "bridge", BRIDGES) {
            table.add(
                BRIDGE,
                if method == "raw" {
                    method
                } else {
                    "six ip by popen"
                },
                ns / 1e3,
            );
        }
        ours::delete_group(&mut netlink);
        if method == "raw" {
            table.add(
                BRIDGE,
                "tapline",
                ours::bridges(&mut netlink, BRIDGES) / 1e3,
            );
            ours::delete_group(&mut netlink);
        }
    }
}

const BRIDGE: &str = "a bridge with MTU, address, two options, up, us";
const INSERT: &str = "100 000 routes, thousands a second";

fn inserts(peers: &Peers, table: &mut Table) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let link = host.interface().index;
    let rate = |ns: f64| f64::from(ROUTES) / ns * 1e6;
    let by_peer = |method: &str, task: &str, what: &str, shown: &str, table: &mut Table| {
        for (_, ns) in peers.run(&host, method, task, ROUTES) {
            table.add(what, shown, rate(ns));
        }
    };
    by_peer("raw256", "routes", INSERT, "raw, an answer for 256", table);
    ours::shake(&mut netlink, link);
    let ns = ours::route_batch(&mut netlink, ROUTES, 100, Way::Gateway(link));
    table.add(INSERT, "tapline batch", rate(ns));
    ours::shake(&mut netlink, link);
    by_peer("raw", "routes", INSERT, "raw, an answer for each", table);
    ours::shake(&mut netlink, link);
    let ns = ours::routes(&mut netlink, ROUTES, Way::Gateway(link));
    table.add(INSERT, "tapline, one by one", rate(ns));
    ours::shake(&mut netlink, link);
    for method in ["libnl", "rtnetlink, flight", "rtnetlink, batch"] {
        by_peer(method, "routes", INSERT, method, table);
        ours::shake(&mut netlink, link);
    }
    let lines = (0..ROUTES).map(|number| {
        let ip = std::net::Ipv4Addr::from_bits(0x1400_0000 + number);
        format!(
            "route add {ip} via {} table 100 proto static\n",
            ours::GATEWAY
        )
    });
    let file = peers.file("routes", &lines.collect::<String>());
    let took = ip(&host, &["-batch", file.to_str().expect("a path of text")]);
    table.add(INSERT, "ip -batch", rate(took.as_nanos() as f64));
    ours::shake(&mut netlink, link);
}

const DUMP: &str = "dump of 100 000 routes, millions a second";
const DUMP_FILTERED: &str = "dump of 100 routes of 100 100, us";

/// Reads a table: how many routes, in how many nanoseconds.
type Reading = fn(&mut netlink::Netlink, u32) -> (u32, f64);

fn dumps(peers: &Peers, table: &mut Table) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let way = Way::Gateway(host.interface().index);
    ours::route_batch(&mut netlink, ROUTES, 100, way);
    ours::route_batch(&mut netlink, FEW, 200, way);
    let rate = |ns: f64| f64::from(ROUTES) / ns * 1e3;
    for method in ["raw", "libnl", "rtnetlink, streamed"] {
        for (what, ns) in peers.run(&host, method, "dump", 3) {
            if what == "dump" {
                table.add(DUMP, method, rate(ns));
            }
        }
        for (shown, task) in [
            ("tapline each", ours::each as Reading),
            ("tapline list", ours::list),
        ] {
            if method == "raw" {
                let mut figures: Vec<_> = (0..3).map(|_| task(&mut netlink, 100)).collect();
                figures.sort_by(|left, right| left.1.total_cmp(&right.1));
                assert_eq!(figures[1].0, ROUTES);
                table.add(DUMP, shown, rate(figures[1].1));
            }
        }
    }
    for (shown, options) in [("ip", "-4"), ("ip -json", "-json")] {
        let took = ip(&host, &[options, "route", "show", "table", "100"]);
        table.add(DUMP, shown, rate(took.as_nanos() as f64));
    }
    for (what, ns) in peers.run(&host, "raw", "filtered", FILTERED) {
        if what == "filtered" {
            table.add(DUMP_FILTERED, "raw", ns / 1e3);
        }
    }
    let mut figures: Vec<_> = (0..FILTERED)
        .map(|_| ours::list(&mut netlink, 200))
        .collect();
    figures.sort_by(|left, right| left.1.total_cmp(&right.1));
    let (count, ns) = figures[figures.len() / 2];
    assert_eq!(count, FEW);
    table.add(DUMP_FILTERED, "tapline list", ns / 1e3);
    let took = ip(&host, &["-4", "route", "show", "table", "200"]);
    table.add(DUMP_FILTERED, "ip", took.as_secs_f64() * 1e6);
}

const DELETE: &str = "1000 veth pairs deleted by group, ms";

fn deletes(peers: &Peers, table: &mut Table) {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    ours::add_veths(&mut netlink, PAIRS);
    for (_, ns) in peers.run(&host, "raw", "delete", 1) {
        table.add(DELETE, "raw", ns / 1e6);
    }
    ours::add_veths(&mut netlink, PAIRS);
    table.add(DELETE, "tapline", ours::delete_group(&mut netlink) / 1e6);
}

const BURST: &str = "a watch after a burst of 100 000 routes, ms";

fn bursts(table: &mut Table) {
    for (shown, reader) in [
        ("read afterwards", burst::Reader::Afterwards),
        ("read meanwhile", burst::Reader::Meanwhile),
    ] {
        let [host, _there] = Net::new().pair();
        let ns = burst::settle(&host, ROUTES, reader);
        table.add(BURST, shown, ns / 1e6);
    }
}

/// A million routes, handed over one after another.
fn stream() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let way = Way::Gateway(host.interface().index);
    let insert = ours::route_batch(&mut netlink, MANY_ROUTES, 100, way) / 1e9;
    let [before, most_before] = ours::memory();
    let (count, ns) = ours::each(&mut netlink, 100);
    let [after, most_after] = ours::memory();
    assert_eq!(count, MANY_ROUTES);
    println!(
        "\n{MANY_ROUTES} routes: added in {insert:.2} s, read one after another in {:.2} s; memory before {before} \
         KiB (at most {most_before}), after {after} KiB (at most {most_after})",
        ns / 1e9
    );
}
