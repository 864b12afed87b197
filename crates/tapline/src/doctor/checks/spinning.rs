//! Whether sockets spin for packets before they sleep.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use abi::socket;

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "busy-read";
const POLL: &str = "busy-poll";
const SOL_SOCKET: i32 = 1;
const SO_BUSY_POLL: i32 = 46;
const SPOILS: &str = "each reader takes a processor while it waits; delays are shorter for it";

pub(super) fn check(roots: &Roots, report: &mut Report) {
    check_reads(roots, report);
    check_polls(roots, report);
}

/// poll(2) and select(2) go by a value of the machine, which no socket tells.
fn check_polls(roots: &Roots, report: &mut Report) {
    match roots.number("net.core.busy_poll") {
        Ok(Some(0)) => report.can(POLL, "off"),
        Ok(Some(spin_us)) => {
            let seen = format!("poll spins for {spin_us} us before it sleeps (net.core.busy_poll)");
            let finding = Finding::new(POLL, Severity::Info, seen, SPOILS);
            report.found(finding.remedy(roots.set_for_all(&[("net.core.busy_poll", 0)])));
        }
        Ok(None) => report.can(POLL, "not shown in this network namespace"),
        Err(error) => report.failed(POLL, &error),
    }
}

/// A new socket begins with what `net.core.busy_read` says, which most namespaces do not show.
fn check_reads(roots: &Roots, report: &mut Report) {
    let told = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|made| socket::option::<i32>(made.as_fd(), SOL_SOCKET, SO_BUSY_POLL));
    let Some(spin_us) = report.known(ID, told) else {
        return;
    };
    if spin_us == 0 {
        return report.can(ID, "off");
    }
    let seen = format!("sockets spin for {spin_us} us before they sleep (net.core.busy_read)");
    let finding = Finding::new(ID, Severity::Info, seen, SPOILS);
    report.found(finding.remedy(roots.set_for_all(&[("net.core.busy_read", 0)])));
}
