//! Programs that others have put on an interface.

use bpf::{TcPlace, XdpHolder, program_name, tcx_programs};
use netlink::IfName;
use rustix::io::Errno;

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const XDP: &str = "xdp-program";
const TCX: &str = "tc-program";

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let (name, index) = (place.link.ifname(), place.link.ifindex().0);
    match report.known(XDP, XdpHolder::of(index)) {
        Some(Some(holder)) => report.found(of_xdp(name, &holder)),
        Some(None) => report.can(XDP, "none"),
        None => {}
    }
    let mut is_free = true;
    for place in [TcPlace::Ingress, TcPlace::Egress] {
        match tcx_programs(index, place) {
            Ok(programs) if programs.is_empty() => {}
            Ok(programs) => {
                is_free = false;
                report.found(of_tcx(name, place, &programs));
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                return report.unknown(TCX, "the kernel does not tell (needs Linux 6.6)");
            }
            Err(error) => return report.failed(TCX, &error),
        }
    }
    if is_free {
        report.can(TCX, "none");
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

fn of_tcx(name: IfName, place: TcPlace, programs: &[u32]) -> Finding {
    let one = |id: &u32| match program_name(*id) {
        Some(name) => format!("{id} ({name})"),
        None => id.to_string(),
    };
    let programs: Vec<String> = programs.iter().map(one).collect();
    let seen = format!("{name} has tc programs at {place}: {}", programs.join(", "));
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
    let finding = Finding::new(TCX, Severity::Info, seen, spoils);
    finding.remedy(format!(
        "bpftool net show dev {}",
        quoted(&name.to_string())
    ))
}
