//! Programs and filters that others have put on an interface.

use std::io;

use bpf::{TcFilter, TcPlace, XdpHolder, program_name, tc_filters, tcx_programs};
use netlink::IfName;
use rustix::io::Errno;

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const XDP: &str = "xdp-program";
const TCX: &str = "tc-program";
const TC: &str = "tc-filter";

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let (name, index) = (place.link.ifname(), place.link.ifindex().0);
    match report.known(XDP, XdpHolder::of(index)) {
        Some(Some(holder)) => report.found(of_xdp(name, &holder)),
        Some(None) => report.can(XDP, "none"),
        None => {}
    }
    let programs = |place| {
        Ok(tcx_programs(index, place)?
            .into_iter()
            .map(of_program)
            .collect())
    };
    match by_place(programs) {
        Ok(places) => tell(TCX, name, places, report),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
            report.unknown(TCX, "the kernel does not tell (needs Linux 6.6)");
        }
        Err(error) => report.failed(TCX, &error),
    }
    let filters = |place| Ok(tc_filters(index, place)?.iter().map(of_filter).collect());
    match by_place(filters) {
        Ok(places) => tell(TC, name, places, report),
        Err(error) => report.failed(TC, &error),
    }
}

/// What runs at each place, in words.
type Places = [(TcPlace, Vec<String>); 2];

fn by_place(ask: impl Fn(TcPlace) -> io::Result<Vec<String>>) -> io::Result<Places> {
    let (ingress, egress) = (ask(TcPlace::Ingress)?, ask(TcPlace::Egress)?);
    Ok([(TcPlace::Ingress, ingress), (TcPlace::Egress, egress)])
}

fn tell(id: &'static str, name: IfName, places: Places, report: &mut Report) {
    if places.iter().all(|(_, there)| there.is_empty()) {
        return report.can(id, "none");
    }
    for (place, there) in places {
        if !there.is_empty() {
            report.found(of_tc(id, name, place, &there));
        }
    }
}

fn of_xdp(name: IfName, holder: &XdpHolder) -> Finding {
    let seen = format!("on {name}, XDP {holder}");
    let spoils = "packets that it drops or redirects are captured and counted nowhere else; drop mode, \
        the backends xdp and xdp-ringbuf and counting by XDP have no place beside it";
    let finding = Finding::new(XDP, Severity::Warning, seen, spoils);
    let remedy = if let Some(process) = &holder.process {
        // It is that process's to say when it is done.
        format!("ps {}", process.id)
    } else {
        let link = quoted(&name.to_string());
        format!("ip link set dev {link} {} off", holder.ip_word)
    };
    finding.remedy(remedy)
}

fn of_program(id: u32) -> String {
    match program_name(id) {
        Some(name) => format!("{id} ({name})"),
        None => id.to_string(),
    }
}

fn of_filter(filter: &TcFilter) -> String {
    let TcFilter { kind, priority, .. } = filter;
    let mut words = format!("{kind} pref {priority}");
    if let Some(name) = &filter.name {
        words = format!("{words} {name}");
    }
    match filter.program {
        Some(id) => format!("{words}, program {}", of_program(id)),
        None => words,
    }
}

fn of_tc(id: &'static str, name: IfName, place: TcPlace, there: &[String]) -> Finding {
    let (kind, between) = if id == TC {
        ("filters", "; ")
    } else {
        ("programs", ", ")
    };
    let seen = format!("{name} has tc {kind} at {place}: {}", there.join(between));
    let spoils = match place {
        TcPlace::Ingress => {
            "packets are captured before it: what it drops, alters or redirects does not reach the stack \
                like that"
        }
        TcPlace::Egress => {
            "packets are captured behind it: what it drops or redirects is not seen, and what it alters is \
                seen altered"
        }
    };
    let link = quoted(&name.to_string());
    Finding::new(id, Severity::Info, seen, spoils).remedy(if id == TC {
        format!("tc filter show dev {link} {place}")
    } else {
        format!("bpftool net show dev {link}")
    })
}
