//! The page about a capture.

use tapline::analysis::{Analysis, AnnouncedAddress, Flow, SIZE_CLASSES, Slot, Top, Traffic};
use tapline::packet::protocol::ip;
use tapline::read::InputError;

use crate::failure::chain;
use crate::output::page_durations::duration;
use crate::page::{Bars, Column, Page, Panel, Panels, Table};
use crate::values::moment::{date_time, local_zone};
use crate::values::units::{amount, counted, grouped};

/// Places on the axis of time.
const PLACES: usize = 240;

pub fn page(analysis: &Analysis, files: &[String], broken: &[InputError], top: usize) -> Page {
    let title = match files {
        [file] => format!("Capture report: {file}"),
        _ => format!("Capture report: {} files", files.len()),
    };
    let mut page = Page::new(&title);
    overview(&mut page, analysis, files, broken);
    over_time(&mut page, analysis);
    losses(&mut page, analysis);
    talkers(&mut page, analysis, top);
    protocols(&mut page, analysis);
    sizes(&mut page, analysis);
    tcp(&mut page, analysis);
    dns(&mut page, analysis);
    neighbours(&mut page, analysis);
    page
}

fn overview(page: &mut Page, analysis: &Analysis, files: &[String], broken: &[InputError]) {
    page.section("Overview");
    let zone = local_zone();
    let time = |ns: Option<u64>| ns.map_or("unknown".to_owned(), |ns| date_time(ns, zone));
    let far = far(analysis);
    let span_ns = if far > 0 {
        analysis.timeline.span().map(|(_, span)| span)
    } else {
        let ends = analysis.last_ns.zip(analysis.first_ns);
        ends.map(|(last, first)| last - first)
    };
    let rate = |count: u64| match span_ns {
        Some(ns @ 1..) => amount(count as f64 * 1e9 / ns as f64),
        _ => "unknown".to_owned(),
    };
    let lost = analysis.loss.interfaces.iter().map(|one| one.loss.lost);
    let is_known = analysis
        .loss
        .interfaces
        .iter()
        .any(|one| one.loss.is_known());
    let lost: u64 = lost.fold(0, u64::saturating_add);
    let mut facts = vec![
        ("Packets", grouped(analysis.packets)),
        ("Bytes on the wire", grouped(analysis.bytes)),
        ("Captured bytes", grouped(analysis.captured_bytes)),
        (
            "Lost packets",
            if is_known {
                grouped(lost)
            } else {
                "not recorded".to_owned()
            },
        ),
        ("First packet", time(analysis.first_ns)),
        ("Last packet", time(analysis.last_ns)),
        ("Duration", span_ns.map_or("unknown".to_owned(), duration)),
        ("Packets/s on average", rate(analysis.packets)),
        ("Bits/s on average", rate(analysis.bytes.saturating_mul(8))),
    ];
    if far > 0 {
        facts.push(("Packets with a time far from the others", grouped(far)));
    }
    if analysis.untimed > 0 {
        facts.push(("Packets without a time", grouped(analysis.untimed)));
    }
    page.facts(facts);
    for error in broken {
        page.warning(&format!("Not read to its end: {}", chain(error)));
    }
    if files.len() > 1 {
        let rows = files.iter().map(|file| vec![file.clone()]).collect();
        page.table(&Table {
            caption: "Files",
            columns: vec![Column::Text("File")],
            rows,
        });
    }
}

/// Packets whose times are far from the others, which are not in the span of the capture.
fn far(analysis: &Analysis) -> u64 {
    let slots = analysis.timeline.far();
    slots.iter().map(|slot| slot.packets).sum()
}

fn over_time(page: &mut Page, analysis: &Analysis) {
    page.section("Packets over time");
    let (start_ns, width_ns, slots) = analysis.timeline.slots(PLACES);
    let lost = slots.iter().map(|slot| slot.lost);
    let lost = lost.fold(0, u64::saturating_add);
    let far = far(analysis);
    if lost == 0 && far == 0 && slots.len() < 2 {
        // A rate needs a duration: one packet in a microsecond is not a million of them in a second.
        page.paragraph(match (analysis.packets, slots.len()) {
            (0, _) => "The capture has no packets.",
            (_, 0) => "No packet has a time.",
            _ => "All packets have the same time, so that there are no rates.",
        });
        return;
    }
    // Without packets, the losses of statistics are there.
    let first_ns = analysis.first_ns.unwrap_or(start_ns);
    let seconds = width_ns as f64 / 1e9;
    let each = |value: fn(&Slot) -> u64, per: f64| -> Vec<f64> {
        slots.iter().map(|slot| value(slot) as f64 / per).collect()
    };
    let span_ns = width_ns.saturating_mul(slots.len() as u64);
    let (unit, unit_s) = match span_ns / 1_000_000_000 {
        0..600 => ("seconds", 1.0),
        600..36_000 => ("minutes", 60.0),
        36_000..1_000_000 => ("hours", 3600.0),
        _ => ("days", 86_400.0),
    };
    // The first slot may begin before the first packet.
    let first_ns = if far > 0 { start_ns } else { first_ns };
    let across = format!("{unit} since {}", date_time(first_ns, local_zone()));
    let mut curves = vec![
        Panel {
            title: "packets/s",
            values: each(|slot| slot.packets, seconds),
        },
        Panel {
            title: "bits/s",
            values: each(|slot| slot.bytes, seconds / 8.0),
        },
        Panel {
            title: "lost packets",
            values: each(|slot| slot.lost, 1.0),
        },
    ];
    if analysis.tcp.segments > 0 {
        curves.push(Panel {
            title: "TCP retransmissions",
            values: each(|slot| slot.retransmissions, 1.0),
        });
    }
    let start = (start_ns as f64 - first_ns as f64) / 1e9 / unit_s;
    let chart = Panels {
        across: &across,
        start,
        step: seconds / unit_s,
        curves,
    };
    page.chart(&format!("Each step is {}", duration(width_ns)), &chart);
    if far > 0 {
        let verb = if far == 1 { "has" } else { "have" };
        page.warning(&format!(
            "{} {verb} a time far from the others, outside these steps: a clock was probably wrong.",
            counted(far, "packet")
        ));
    }
    page.paragraph(
        "Losses are shown at the packet or the statistics that report them: they happened before.",
    );
}

fn losses(page: &mut Page, analysis: &Analysis) {
    page.section("Interfaces and losses");
    let count = |count: Option<u64>| count.map_or("unknown".to_owned(), grouped);
    let rows = analysis
        .loss
        .interfaces
        .iter()
        .enumerate()
        .map(|(number, one)| {
            let loss = &one.loss;
            vec![
                interface_name(analysis, number),
                one.interface.filter.clone().unwrap_or_default(),
                grouped(one.packets),
                count(loss.is_known().then_some(loss.lost)),
                grouped(loss.by_packets),
                count(loss.by_system),
                count(loss.by_interface),
            ]
        });
    page.table(&Table {
        caption: "Losses, as packets and statistics in the file report them",
        columns: vec![
            Column::Text("Interface"),
            Column::Text("Filter"),
            Column::Number("Packets"),
            Column::Number("Lost"),
            Column::Number("as packets say"),
            Column::Number("in the system"),
            Column::Number("in the interface"),
        ],
        rows: rows.collect(),
    });
    if !analysis.loss.notes.is_empty() {
        let zone = local_zone();
        let rows = analysis.loss.notes.iter().map(|note| {
            let time = note.time_ns.map_or(String::new(), |ns| date_time(ns, zone));
            vec![
                time,
                note.interface.clone().unwrap_or_default(),
                note.text.clone(),
            ]
        });
        page.table(&Table {
            caption: "Notes of the capturing program",
            columns: ["Time", "Interface", "Note"].map(Column::Text).into(),
            rows: rows.collect(),
        });
    }
    if analysis.loss.omitted > 0 {
        let omitted = grouped(analysis.loss.omitted);
        page.warning(&format!(
            "{omitted} interfaces, notes and statistics are not shown: there were too many."
        ));
    }
}

fn talkers(page: &mut Page, analysis: &Analysis, top: usize) {
    page.section("Top talkers");
    let sent = [
        "sent packets",
        "sent bytes",
        "received packets",
        "received bytes",
    ];
    let hosts = analysis.hosts.largest(top).into_iter();
    let rows = hosts
        .map(|(host, traffic)| (host.to_string(), traffic))
        .collect();
    traffic_table(
        page,
        analysis,
        "Hosts with most bytes",
        "Address",
        sent,
        rows,
    );
    forgotten(page, &analysis.hosts);
    let there = ["packets there", "bytes there", "packets back", "bytes back"];
    let flows = analysis.flows.largest(top).into_iter();
    let rows = flows
        .map(|(flow, traffic)| (flow_name(&flow), traffic))
        .collect();
    traffic_table(page, analysis, "Flows with most bytes", "Flow", there, rows);
    forgotten(page, &analysis.flows);
    if analysis.stations.is_empty() {
        return;
    }
    let stations = analysis.stations.largest(top).into_iter();
    let rows = stations
        .map(|(mac, traffic)| (mac.to_string(), traffic))
        .collect();
    traffic_table(
        page,
        analysis,
        "Ethernet addresses with most bytes",
        "Address",
        sent,
        rows,
    );
    forgotten(page, &analysis.stations);
}

fn traffic_table(
    page: &mut Page,
    analysis: &Analysis,
    caption: &str,
    key: &str,
    heads: [&str; 4],
    rows: Vec<(String, Traffic)>,
) {
    let row = |(name, traffic): (String, Traffic)| {
        let [(there, back), (bytes_there, bytes_back)] =
            [traffic.packets, traffic.bytes].map(|[there, back]| (there, back));
        let numbers = [there, bytes_there, back, bytes_back].map(grouped);
        let share = share(traffic.all_bytes(), analysis.bytes);
        [name, share].into_iter().chain(numbers).collect()
    };
    let columns = [Column::Text(key), Column::Share("Share of all bytes")];
    page.table(&Table {
        caption,
        columns: columns
            .into_iter()
            .chain(heads.map(Column::Number))
            .collect(),
        rows: rows.into_iter().map(row).collect(),
    });
}

fn forgotten<K: Copy + Eq + std::hash::Hash + Ord>(page: &mut Page, table: &Top<K>) {
    if table.forgotten() > 0 {
        let (kept, forgotten) = (grouped(table.len() as u64), grouped(table.forgotten()));
        let missing = grouped(table.missing_bytes());
        page.warning(&format!(
            "There were too many to count each: {kept} are known at the end, {forgotten} with few bytes were forgotten. A figure above may lack up to {missing} bytes."
        ));
    }
}

fn flow_name(flow: &Flow) -> String {
    let protocol = match ip::name(flow.protocol) {
        "" => format!("IP protocol {}", flow.protocol),
        name => name.to_owned(),
    };
    let has_ports = flow.ends.iter().any(|end| end.1 != 0);
    let [one, two] = flow.ends.map(|(address, port)| {
        if has_ports {
            std::net::SocketAddr::new(address, port).to_string()
        } else {
            address.to_string()
        }
    });
    format!("{protocol} {one} – {two}")
}

fn share(part: u64, all: u64) -> String {
    format!("{:.6}", part as f64 / all.max(1) as f64)
}

fn protocols(page: &mut Page, analysis: &Analysis) {
    page.section("Protocols");
    let mut rows = Vec::new();
    analysis.protocols.each(&mut |depth, protocol, tree| {
        let name = format!("{}{protocol}", "\u{a0}\u{a0}\u{a0}".repeat(depth));
        let numbers = [tree.packets, tree.bytes].map(grouped);
        let share = share(tree.bytes, analysis.bytes);
        rows.push([name, share].into_iter().chain(numbers).collect());
    });
    page.table(&Table {
        caption: "Each protocol is below the one that carries it; a packet counts at each of its headers",
        columns: vec![
            Column::Text("Protocol"),
            Column::Share("Share of all bytes"),
            Column::Number("Packets"),
            Column::Number("Bytes"),
        ],
        rows,
    });
}

fn sizes(page: &mut Page, analysis: &Analysis) {
    page.section("Packet sizes");
    let mut from = 0;
    let mut classes = Vec::new();
    for (limit, packets) in SIZE_CLASSES
        .iter()
        .map(Some)
        .chain([None])
        .zip(analysis.sizes.packets)
    {
        let name = limit.map_or(format!("{from}+"), |most| format!("{from}–{most}"));
        from = limit.map_or(from, |most| most + 1);
        classes.push((name, packets as f64));
    }
    page.chart(
        "Packets by size",
        &Bars {
            across: "bytes on the wire",
            up: "packets",
            classes,
        },
    );
}

fn tcp(page: &mut Page, analysis: &Analysis) {
    let tcp = &analysis.tcp;
    if tcp.segments == 0 {
        return;
    }
    page.section("TCP");
    page.facts([
        ("Segments", grouped(tcp.segments)),
        ("Connections", grouped(tcp.connections)),
        ("Handshakes captured as a whole", grouped(tcp.handshakes)),
        ("Retransmissions", grouped(tcp.retransmissions)),
        ("Segments out of order", grouped(tcp.out_of_order)),
        ("Gaps", grouped(tcp.gaps)),
        ("Resets", grouped(tcp.resets)),
    ]);
    if tcp.forgotten > 0 {
        let forgotten = grouped(tcp.forgotten);
        page.warning(&format!(
            "There were too many connections to follow each: {forgotten} were forgotten, those that were silent longest. If they went on, they count again."
        ));
    }
    page.durations(
        "Handshake round trips, from the SYN to the ACK",
        "handshakes",
        &tcp.round_trips,
    );
    page.durations(
        "Answers of servers, from the SYN to the SYN with ACK",
        "answers",
        &tcp.server_times,
    );
}

fn dns(page: &mut Page, analysis: &Analysis) {
    let dns = &analysis.dns;
    if dns.queries == 0 && dns.codes.is_empty() {
        return;
    }
    page.section("DNS");
    page.facts([
        ("Queries", grouped(dns.queries)),
        ("Answered", grouped(dns.answered)),
        (
            "Without an answer in the capture",
            grouped(dns.unanswered()),
        ),
        ("Queries sent again", grouped(dns.repeated)),
        (
            "Responses without a query in the capture",
            grouped(dns.unasked),
        ),
    ]);
    if dns.given_up > 0 {
        let given_up = grouped(dns.given_up);
        page.warning(&format!("Too many queries waited at the same time: {given_up} were given up and count as not answered."));
    }
    page.durations("Answer times", "answers", &dns.times);
    let rows = dns
        .codes
        .iter()
        .map(|(code, count)| vec![code_name(*code), grouped(*count)]);
    page.table(&Table {
        caption: "Responses by code",
        columns: vec![Column::Text("Code"), Column::Number("Responses")],
        rows: rows.collect(),
    });
}

/// The name of a response code: RFC 1035, 4.1.1 and RFC 2136, 2.2.
fn code_name(code: u8) -> String {
    let names = [
        "no error",
        "format error",
        "server failure",
        "no such name",
        "not implemented",
        "refused",
    ];
    let name = names.get(usize::from(code));
    name.map_or_else(|| format!("code {code}"), |name| format!("{name} ({code})"))
}

fn neighbours(page: &mut Page, analysis: &Analysis) {
    let neighbours = &analysis.neighbours;
    if neighbours.addresses() == 0 {
        return;
    }
    page.section("Address conflicts");
    let addresses = grouped(neighbours.addresses() as u64);
    if neighbours.conflicts().is_empty() {
        page.paragraph(&format!(
            "None among {addresses} addresses that ARP and neighbour discovery announced."
        ));
    } else {
        page.paragraph(&format!(
            "Of {addresses} addresses that ARP and neighbour discovery announced, these were claimed by several Ethernet addresses. Routers that share an address (VRRP, HSRP) look like this, too."
        ));
        let zone = local_zone();
        let rows = neighbours.conflicts().iter().map(|(address, conflict)| {
            let owners = conflict.owners.iter().map(|(owner, _)| owner.to_string());
            let since = conflict
                .first_ns
                .map_or(String::new(), |ns| date_time(ns, zone));
            vec![
                announced(address, analysis),
                owners.collect::<Vec<_>>().join(", "),
                since,
            ]
        });
        page.table(&Table {
            caption: "Addresses with several owners",
            columns: ["Address", "Owners", "Since"].map(Column::Text).into(),
            rows: rows.collect(),
        });
    }
    if neighbours.ignored() > 0 {
        let ignored = grouped(neighbours.ignored());
        page.warning(&format!(
            "{ignored} messages were ignored: there were too many addresses, conflicts or owners."
        ));
    }
}

/// An address with the VLAN, and of a link-local address the interface, where it was announced.
fn announced(address: &AnnouncedAddress, analysis: &Analysis) -> String {
    let mut text = address.address.to_string();
    for (vlan, what) in address.vlans.iter().flatten().zip(["VLAN", "inner VLAN"]) {
        text = format!("{text}, {what} {vlan}");
    }
    match address.interface {
        Some(place) => format!("{text}, {}", interface_name(analysis, usize::from(place))),
        None => text,
    }
}

/// The name of an interface, or its number if the file has no name.
fn interface_name(analysis: &Analysis, place: usize) -> String {
    let interface = analysis.loss.interfaces.get(place);
    let name = interface.and_then(|one| one.interface.name.clone());
    name.unwrap_or_else(|| format!("number {place}"))
}
