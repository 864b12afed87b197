//! The report of a file as text.

use std::fmt::{Display, Write};
use std::io;

use tapline::file::model::{LinkType, Statistics};
use tapline::file::read::{ByteOrder, DetectedCompression, DetectedFormat};
use tapline::read::{FileReport, ReportedInterface};

use crate::failure::chain;
use crate::values::moment::{date_time, local_zone};
use crate::values::units::{amount, counted, grouped};

/// Prints one line per known value, after an empty line if `needs_blank_line`.
pub fn print(report: &FileReport, needs_blank_line: bool) -> io::Result<()> {
    let mut page = Page {
        text: String::new(),
    };
    if needs_blank_line {
        page.text.push('\n');
    }
    file(&mut page, report);
    traffic(&mut page, report);
    section(&mut page, report);
    for (index, one) in report.interfaces.iter().enumerate() {
        interface(&mut page, index, one);
    }
    io::Write::write_all(&mut io::stdout(), page.text.as_bytes())
}

/// Lines of a key and a value.
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, word: &str, value: impl Display) {
        let value = value.to_string();
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{word:<14}{}", harmless(&value));
    }

    /// Prints nothing without a value.
    fn line_if(&mut self, word: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.line(word, value);
        }
    }
}

/// Text from a file, without control characters.
fn harmless(text: &str) -> String {
    let is_harmless =
        |c: char| c.is_ascii_graphic() || c == ' ' || !c.is_ascii() && c.is_alphanumeric();
    text.chars()
        .map(|c| if is_harmless(c) { c } else { '?' })
        .collect()
}

fn file(page: &mut Page, report: &FileReport) {
    page.line("file", &report.name);
    let (major, minor) = report.header.version;
    let order = match report.header.byte_order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    };
    let compression = compression_name(report).map_or(String::new(), |name| format!(", {name}"));
    let format = format_name(report);
    page.line(
        "format",
        format!("{format} {major}.{minor}, {order}{compression}"),
    );
    page.line("size", counted(report.size_bytes, "byte"));
    let end = report.error.as_ref().map(|error| chain(error));
    page.line("end", end.as_deref().unwrap_or("complete"));
}

fn traffic(page: &mut Page, report: &FileReport) {
    let traffic = &report.traffic;
    page.line("packets", grouped(traffic.packets));
    page.line(
        "bytes",
        format!(
            "{} captured, {} on the wire",
            grouped(traffic.bytes),
            grouped(traffic.original_bytes)
        ),
    );
    let zone = local_zone();
    page.line_if(
        "first packet",
        traffic.first_ns.map(|ns| date_time(ns, zone)),
    );
    page.line_if("last packet", traffic.last_ns.map(|ns| date_time(ns, zone)));
    let seconds = |ns: u64| format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
    page.line_if("duration", traffic.duration_ns().map(seconds));
    let bits = traffic.rate(traffic.original_bytes.saturating_mul(8));
    let rates = traffic.rate(traffic.packets).zip(bits);
    let shown = |(packets, bits)| format!("{}pps, {}bps on average", rate(packets), rate(bits));
    page.line_if("rate", rates.map(shown));
    let mean = traffic.mean_packet_bytes();
    page.line_if(
        "packet size",
        mean.map(|mean| format!("{mean:.2} bytes on average")),
    );
    page.line_if("snaplen", report.snaplen().map(snaplen));
    page.line(
        "time order",
        match traffic.is_in_order() {
            Some(true) => "strict",
            Some(false) => "not strict",
            None => "unknown, not every packet has a time",
        },
    );
}

/// Shows two digits of a small value, where [`amount`] shows none.
fn rate(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.2} ")
    } else {
        amount(value)
    }
}

fn snaplen(snaplen: u32) -> String {
    match snaplen {
        0 => "no limit".into(),
        bytes => format!("{bytes} bytes"),
    }
}

fn section(page: &mut Page, report: &FileReport) {
    let section = &report.header.section;
    page.line_if("hardware", section.hardware.as_ref());
    page.line_if("os", section.os.as_ref());
    page.line_if("application", section.application.as_ref());
    page.line_if("comment", section.comment.as_ref());
}

fn interface(page: &mut Page, index: usize, reported: &ReportedInterface) {
    let interface = &reported.interface;
    let name = interface.name.as_deref().unwrap_or("-");
    let packets = counted(reported.packets, "packet");
    page.line(&format!("interface {index}"), format!("{name}, {packets}"));
    page.line_if("  description", interface.description.as_ref());
    page.line("  link type", link_type(interface.link_type));
    page.line("  snaplen", snaplen(interface.snaplen));
    let speed = |bps| format!("{}bps", amount(bps as f64));
    page.line_if("  speed", interface.speed_bps.map(speed));
    let mac = interface
        .mac
        .map(|mac| mac.map(|octet| format!("{octet:02x}")).join(":"));
    page.line_if("  address", mac);
    page.line_if("  filter", interface.filter.as_ref());
    match reported.sampling() {
        Some(rate) => page.line("  sampled", format!("{rate} in the kernel")),
        None => page.line_if("  comment", interface.comment.as_ref()),
    }
    page.line_if("  hardware", interface.hardware.as_ref());
    page.line_if("  os", interface.os.as_ref());
    let zone = local_zone();
    for note in &reported.notes {
        let time = note.timestamp_ns.map(|ns| date_time(ns, zone));
        let text = note.comment.as_deref().unwrap_or_default();
        page.line("  note", format!("{} {text}", time.unwrap_or_default()));
    }
    for counters in &reported.parts {
        let part = counters.part().unwrap_or_default();
        page.line("  part", format!("{part}: {}", statistics(counters)));
    }
    if let Some(counters) = &reported.statistics {
        page.line("  statistics", statistics(counters));
        page.line_if("  comment", counters.comment.as_ref());
    }
}

fn link_type(link_type: LinkType) -> String {
    let name = match link_type {
        LinkType::NULL => "BSD loopback",
        LinkType::ETHERNET => "Ethernet",
        LinkType::RAW => "raw IP",
        LinkType::LINUX_SLL => "Linux cooked v1",
        LinkType::LINUX_SLL2 => "Linux cooked v2",
        LinkType(number) => return number.to_string(),
    };
    format!("{} ({name})", link_type.0)
}

/// The known counters.
fn statistics(statistics: &Statistics) -> String {
    let counters = [
        ("received", statistics.received),
        ("dropped by the interface", statistics.interface_dropped),
        ("accepted by the filter", statistics.filter_accepted),
        ("dropped by the system", statistics.os_dropped),
        ("delivered", statistics.delivered),
    ];
    let known: Vec<_> = counters
        .into_iter()
        .filter_map(|(word, count)| Some(format!("{} {word}", grouped(count?))))
        .collect();
    match known.as_slice() {
        [] => "no counters".into(),
        known => known.join(", "),
    }
}

pub fn format_name(report: &FileReport) -> &'static str {
    let first = report.interfaces.first();
    let ticks = first.map(|one| one.interface.ticks_per_second);
    match (report.header.format, ticks) {
        (DetectedFormat::Pcapng, _) => "pcapng",
        (_, Some(1_000_000_000)) => "pcap-ns",
        _ => "pcap",
    }
}

pub fn compression_name(report: &FileReport) -> Option<&'static str> {
    match report.compression {
        DetectedCompression::Gzip => Some("gzip"),
        DetectedCompression::Zstd => Some("zstd"),
        _ => None,
    }
}
