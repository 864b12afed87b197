//! Counters of links, in the columns of ip(8) (`print_stats64`, ip/ipaddress.c).

use std::fmt::Write;

use netlink::Link;
use serde_json::{Value, json};

use crate::net::spelled::Extent;

/// What a column is at least as wide as.
const WIDEST: [&str; 8] = [
    "*X errors:",
    "packets",
    "errors",
    "dropped",
    "heartbt",
    "overrun",
    "compressed",
    "otherhost",
];

/// A heading and a line of numbers. The first column is that of bytes.
struct Row {
    title: &'static str,
    columns: Vec<(usize, &'static str, u64)>,
}

impl Row {
    /// From the columns in their order, `first` the place of the first.
    fn new(title: &'static str, first: usize, columns: &[(&'static str, u64)]) -> Self {
        let columns = columns.iter().enumerate();
        let columns = columns.map(|(at, (name, count))| (first + at, *name, *count));
        Self {
            title,
            columns: columns.collect(),
        }
    }

    /// Adds a column that is shown where there is something in it.
    fn seldom(&mut self, place: usize, name: &'static str, count: u64) {
        if count > 0 {
            self.columns.push((place, name, count));
        }
    }
}

/// The lines below a link; those of errors where they are asked for.
pub fn text(link: &Link, extent: Extent) -> String {
    let mut text = String::new();
    let rows = rows(link, extent.errors);
    let mut widths = WIDEST.map(str::len);
    for (place, _, count) in rows.iter().flat_map(|row| &row.columns) {
        widths[*place] = widths[*place].max(count.to_string().len());
    }
    for Row { title, columns } in rows {
        let (mut head, mut line) = (title.to_owned(), String::new());
        for (place, name, count) in columns {
            // It ends where the columns before it and its own do.
            let end: usize = widths[..=place].iter().map(|width| width + 1).sum();
            let width = |so_far: &str| (end - 1).saturating_sub(so_far.len());
            let (of_head, of_line) = (width(&head), width(&line));
            let _ = write!(head, "{name:>of_head$}");
            let _ = write!(line, "{count:>of_line$}");
        }
        let _ = write!(text, "\n    {head}\n    {line}");
    }
    text
}

fn rows(link: &Link, errors: bool) -> Vec<Row> {
    let Some(counters) = &link.statistics else {
        return Vec::new();
    };
    let mut received = Row::new(
        "RX:",
        0,
        &[
            ("bytes", counters.rx_bytes),
            ("packets", counters.rx_packets),
            ("errors", counters.rx_errors),
            ("dropped", counters.rx_dropped),
            ("missed", counters.rx_missed_errors),
            ("mcast", counters.multicast),
        ],
    );
    received.seldom(6, "compressed", counters.rx_compressed);
    let mut bad = Row::new(
        "RX errors:",
        1,
        &[
            ("length", counters.rx_length_errors),
            ("crc", counters.rx_crc_errors),
            ("frame", counters.rx_frame_errors),
            ("fifo", counters.rx_fifo_errors),
            ("overrun", counters.rx_over_errors),
        ],
    );
    bad.seldom(6, "nohandler", counters.rx_nohandler);
    bad.seldom(
        7,
        "otherhost",
        counters.rx_otherhost_dropped.unwrap_or_default(),
    );
    let mut sent = Row::new(
        "TX:",
        0,
        &[
            ("bytes", counters.tx_bytes),
            ("packets", counters.tx_packets),
            ("errors", counters.tx_errors),
            ("dropped", counters.tx_dropped),
            ("carrier", counters.tx_carrier_errors),
            ("collsns", counters.collisions),
        ],
    );
    sent.seldom(6, "compressed", counters.tx_compressed);
    let mut unsent = Row::new(
        "TX errors:",
        1,
        &[
            ("aborted", counters.tx_aborted_errors),
            ("fifo", counters.tx_fifo_errors),
            ("window", counters.tx_window_errors),
            ("heartbt", counters.tx_heartbeat_errors),
        ],
    );
    if let Some(changes) = link.carrier_changes {
        unsent.columns.push((5, "transns", changes.into()));
    }
    if errors {
        vec![received, bad, sent, unsent]
    } else {
        vec![received, sent]
    }
}

/// The same with the keys of `ip -json`.
pub fn json(link: &Link, extent: Extent) -> Option<Value> {
    let counters = link.statistics.as_ref()?;
    let mut received = json!({
        "bytes": counters.rx_bytes,
        "packets": counters.rx_packets,
        "errors": counters.rx_errors,
        "dropped": counters.rx_dropped,
        "over_errors": counters.rx_over_errors,
        "multicast": counters.multicast,
    });
    let mut sent = json!({
        "bytes": counters.tx_bytes,
        "packets": counters.tx_packets,
        "errors": counters.tx_errors,
        "dropped": counters.tx_dropped,
        "carrier_errors": counters.tx_carrier_errors,
        "collisions": counters.collisions,
    });
    let seldom = |place: &mut Value, key: &str, count: u64| {
        if count > 0 {
            place[key] = count.into();
        }
    };
    seldom(&mut received, "compressed", counters.rx_compressed);
    seldom(&mut sent, "compressed", counters.tx_compressed);
    if extent.errors {
        for (key, count) in [
            ("length_errors", counters.rx_length_errors),
            ("crc_errors", counters.rx_crc_errors),
            ("frame_errors", counters.rx_frame_errors),
            ("fifo_errors", counters.rx_fifo_errors),
            ("missed_errors", counters.rx_missed_errors),
        ] {
            received[key] = count.into();
        }
        let others = counters.rx_otherhost_dropped.unwrap_or_default();
        seldom(&mut received, "nohandler", counters.rx_nohandler);
        seldom(&mut received, "otherhost", others);
        for (key, count) in [
            ("aborted_errors", counters.tx_aborted_errors),
            ("fifo_errors", counters.tx_fifo_errors),
            ("window_errors", counters.tx_window_errors),
            ("heartbeat_errors", counters.tx_heartbeat_errors),
        ] {
            sent[key] = count.into();
        }
        if let Some(changes) = link.carrier_changes {
            sent["carrier_changes"] = changes.into();
        }
    }
    Some(json!({ "rx": received, "tx": sent }))
}
