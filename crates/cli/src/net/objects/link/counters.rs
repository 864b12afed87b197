//! Counters of a link, in the columns of `print_stats64`, ip/ipaddress.c.

use serde_json::{Map, Value};
use tapline::net::Link;

use crate::net::output::{DetailLevel, Record, push};

/// The minimum width of each column.
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

/// A counter: its key in JSON, its column and heading in text, and its field in the library. `-` stands for none.
type Counter = (&'static str, usize, &'static str, &'static str);

const RX: &[Counter] = &[
    ("bytes", 0, "bytes", "rx_bytes"),
    ("packets", 1, "packets", "rx_packets"),
    ("errors", 2, "errors", "rx_errors"),
    ("dropped", 3, "dropped", "rx_dropped"),
    ("over_errors", 0, "-", "rx_over_errors"),
    ("-", 4, "missed", "rx_missed_errors"),
    ("multicast", 5, "mcast", "multicast"),
    ("compressed", 6, "compressed", "rx_compressed"),
];

const RX_ERRORS: &[Counter] = &[
    ("length_errors", 1, "length", "rx_length_errors"),
    ("crc_errors", 2, "crc", "rx_crc_errors"),
    ("frame_errors", 3, "frame", "rx_frame_errors"),
    ("fifo_errors", 4, "fifo", "rx_fifo_errors"),
    ("-", 5, "overrun", "rx_over_errors"),
    ("missed_errors", 0, "-", "rx_missed_errors"),
    ("nohandler", 6, "nohandler", "rx_nohandler"),
    ("otherhost", 7, "otherhost", "rx_otherhost_dropped"),
];

const TX: &[Counter] = &[
    ("bytes", 0, "bytes", "tx_bytes"),
    ("packets", 1, "packets", "tx_packets"),
    ("errors", 2, "errors", "tx_errors"),
    ("dropped", 3, "dropped", "tx_dropped"),
    ("carrier_errors", 4, "carrier", "tx_carrier_errors"),
    ("collisions", 5, "collsns", "collisions"),
    ("compressed", 6, "compressed", "tx_compressed"),
];

const TX_ERRORS: &[Counter] = &[
    ("aborted_errors", 1, "aborted", "tx_aborted_errors"),
    ("fifo_errors", 2, "fifo", "tx_fifo_errors"),
    ("window_errors", 3, "window", "tx_window_errors"),
    ("heartbeat_errors", 4, "heartbt", "tx_heartbeat_errors"),
    ("carrier_changes", 5, "transns", "carrier_changes"),
];

/// Counters that are printed only if they are not 0.
const RARE: [&str; 3] = ["compressed", "nohandler", "otherhost"];

/// Prints the counters, and with `-s -s` those of errors.
pub fn print(link: &Link, record: &mut Record, level: DetailLevel) {
    let counters = link.statistics.as_ref().map(serde_json::to_value);
    let Some(Ok(Value::Object(mut counters))) = counters else {
        return;
    };
    if let Some(changes) = link.carrier_changes {
        counters.insert("carrier_changes".to_owned(), changes.into());
    }
    let rows = [
        ("rx", "RX:", RX),
        ("rx", "RX errors:", RX_ERRORS),
        ("tx", "TX:", TX),
        ("tx", "TX errors:", TX_ERRORS),
    ];
    let rows = rows
        .into_iter()
        .filter(|(_, title, _)| level.errors || !title.contains("errors"));
    let rows: Vec<_> = rows
        .map(|(direction, title, row)| {
            let columns = row.iter().filter_map(|(key, column, heading, field)| {
                let count = counters.get(*field)?.as_u64()?;
                let is_printed = count > 0 || !RARE.contains(heading);
                is_printed.then_some((*key, *column, *heading, count))
            });
            (direction, title, columns.collect::<Vec<_>>())
        })
        .collect();
    match record {
        Record::Json(fields) => {
            let mut shown = Map::new();
            for (direction, _, columns) in rows {
                let fields = shown.entry(direction).or_insert_with(|| Map::new().into());
                for (key, _, _, count) in columns.into_iter().filter(|(key, ..)| *key != "-") {
                    fields[key] = count.into();
                }
            }
            fields.insert("stats64".to_owned(), shown.into());
        }
        Record::Text(text) => {
            let columns = rows.iter().flat_map(|(_, _, columns)| columns);
            let mut widths = WIDEST.map(str::len);
            for (_, column, _, count) in columns.filter(|(_, _, heading, _)| *heading != "-") {
                widths[*column] = widths[*column].max(count.to_string().len());
            }
            for (_, title, columns) in &rows {
                print_row(title, columns, &widths, text);
            }
        }
    }
}

/// Prints a line of headings and a line of numbers, aligned on the right.
fn print_row(
    title: &str,
    columns: &[(&str, usize, &str, u64)],
    widths: &[usize; 8],
    text: &mut String,
) {
    let (mut headings, mut numbers) = (title.to_owned(), String::new());
    let columns = columns.iter().filter(|(_, _, heading, _)| *heading != "-");
    for (_, column, heading, count) in columns {
        let end: usize = widths[..=*column].iter().map(|width| width + 1).sum();
        let width = |line: &str| (end - 1).saturating_sub(line.len());
        let (heading_width, number_width) = (width(&headings), width(&numbers));
        push(&mut headings, format_args!("{heading:>heading_width$}"));
        push(&mut numbers, format_args!("{count:>number_width$}"));
    }
    push(text, format_args!("\n    {headings}\n    {numbers}"));
}
