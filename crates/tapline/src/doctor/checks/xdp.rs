//! XDP: what the driver can do, and whether there are sockets for it.

use netlink::NetDevices;
use rustix::io::Errno;

use super::super::place::{Place, Roots};
use super::super::report::{Finding, Report, Severity};

const ID: &str = "xdp";
const SOCKETS: &str = "af-xdp";

pub(super) fn check_sockets(_: &Roots, report: &mut Report) {
    match abi::xdp::socket() {
        Ok(_) => report.can(SOCKETS, "sockets are to be had"),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::AFNOSUPPORT) => {
            let spoils = "the backend xdp is not to be had; the packet rings are";
            let seen = "this kernel is built without AF_XDP sockets";
            let finding = Finding::new(SOCKETS, Severity::Info, seen, spoils);
            report.found(
                finding.advice(
                    "boot a kernel with CONFIG_XDP_SOCKETS=y, or leave it at --mode mirror",
                ),
            );
        }
        Err(error) => report.failed(SOCKETS, &error),
    }
}

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let index = place.link.ifindex();
    let told = NetDevices::open().and_then(|mut devices| devices.xdp(index));
    let abilities = match told {
        Ok(abilities) => abilities,
        Err(error) if error.errno() == Some(Errno::NOENT.raw_os_error()) => {
            return report.unknown(ID, "the kernel does not tell (needs Linux 6.3)");
        }
        Err(error) => return report.failed(ID, &error),
    };
    if !abilities.runs() {
        report.can(ID, "in the stack only (generic)");
        let seen = format!("the driver of {} runs no XDP programs", place.link.ifname());
        let spoils = "dropping and AF_XDP work in the stack, after each packet has got its memory: \
            several times slower, and without the device's time stamps";
        let finding = Finding::new(ID, Severity::Info, seen, spoils);
        let words = "capture with --mode mirror, whose rings are as fast over any driver";
        return report.found(finding.advice(words));
    }
    let kinds = [
        (true, "in the driver"),
        (abilities.redirects(), "redirects"),
        (abilities.is_zero_copy(), "zero copy"),
        (abilities.takes_fragments(), "fragments"),
    ];
    let metadata = [
        (abilities.tells_time(), "time"),
        (abilities.tells_hash(), "hash"),
        (abilities.tells_vlan(), "VLAN tag"),
    ];
    let (kinds, metadata) = (list(&kinds), list(&metadata));
    let metadata = if metadata.is_empty() {
        "none".into()
    } else {
        metadata
    };
    report.can(ID, format!("{kinds}; metadata: {metadata}"));
}

fn list(named: &[(bool, &str)]) -> String {
    let there = named.iter().filter(|(is_there, _)| *is_there);
    there.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}
