//! Sockets for probes: raw ones, and those that users may have.

use std::io;

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto, socket_with};

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "ping-socket";
const SETTING: &str = "net.ipv4.ping_group_range";

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let raw = open(SocketType::RAW, ipproto::ICMP);
    let datagram = open(SocketType::DGRAM, ipproto::ICMP);
    match (raw, datagram) {
        (Ok(()), _) => report.can(ID, "raw sockets: any probe"),
        (Err(_), Ok(())) => report.can(ID, "ping sockets: echo requests only"),
        (Err(error), Err(_)) if error.kind() == io::ErrorKind::PermissionDenied => {
            let range = roots.sysctl(SETTING).ok().flatten();
            let range = range.map_or_else(
                || "is not shown".into(),
                |range| {
                    format!(
                        "is \"{}\"",
                        range.split_whitespace().collect::<Vec<_>>().join(" ")
                    )
                },
            );
            let seen = format!("neither raw nor ping sockets are permitted ({SETTING} {range})");
            let finding = Finding::new(ID, Severity::Warning, seen, "nothing can be probed");
            report.found(finding.remedy(format!("sysctl -w '{SETTING}=0 2147483647'")));
        }
        (Err(error), Err(_)) => report.failed(ID, &error),
    }
}

fn open(kind: SocketType, protocol: Protocol) -> io::Result<()> {
    let made = socket_with(
        AddressFamily::INET,
        kind,
        SocketFlags::CLOEXEC,
        Some(protocol),
    );
    made.map(drop).map_err(io::Error::from)
}
