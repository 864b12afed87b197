//! XDP and tc: what the driver supports, whether AF_XDP works, and which programs are attached already.

use std::io;

use bpf::{AttachedXdpProgram, TcFilter, TcHook, program_name, tc_filters, tcx_programs};
use netlink::{IfName, NetDevices};
use rustix::io::Errno;

use crate::doctor::change::shell_quote;
use crate::doctor::paths::{InterfaceContext, SystemPaths};
use crate::doctor::report::{Finding, Report};

const AF_XDP: &str = "af-xdp";
const DRIVER: &str = "xdp";
const XDP_PROGRAM: &str = "xdp-program";
const TCX_PROGRAM: &str = "tc-program";
const TC_FILTER: &str = "tc-filter";

pub(super) fn check_sockets(_: &SystemPaths, report: &mut Report) {
    match abi::xdp::socket() {
        Ok(_) => report.add_ability(AF_XDP, "available"),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::AFNOSUPPORT) => {
            let observed = "this kernel has no AF_XDP sockets";
            let effect = "the back end xdp is not available; packet rings are";
            let finding = Finding::info(AF_XDP, observed, effect);
            report.add(finding.advice(
                "boot a kernel with CONFIG_XDP_SOCKETS=y; without it, capture in mirror mode",
            ));
        }
        Err(error) => report.add_error(AF_XDP, &error),
    }
}

pub(super) fn check_driver(context: &InterfaceContext<'_>, report: &mut Report) {
    let index = context.link.ifindex();
    let abilities = match NetDevices::open().and_then(|mut devices| devices.xdp(index)) {
        Ok(abilities) => abilities,
        Err(error) if error.errno() == Some(Errno::NOENT.raw_os_error()) => {
            return report.add_unknown(DRIVER, "the kernel does not report it (needs Linux 6.3)");
        }
        Err(error) => return report.add_error(DRIVER, &error),
    };
    if !abilities.runs() {
        report.add_ability(DRIVER, "generic XDP only");
        let observed = format!(
            "the driver of {} does not support XDP",
            context.link.ifname()
        );
        let effect = "drop mode and AF_XDP run after the kernel has allocated each packet: several times \
            slower, and without the device's time stamps";
        let finding = Finding::info(DRIVER, observed, effect);
        let advice = "capture in mirror mode: packet rings are as fast with any driver";
        return report.add(finding.advice(advice));
    }
    let features = names(&[
        (true, "native"),
        (abilities.redirects(), "redirect"),
        (abilities.is_zero_copy(), "zero copy"),
        (abilities.takes_fragments(), "multi-buffer"),
    ]);
    let metadata = names(&[
        (abilities.tells_time(), "time stamp"),
        (abilities.tells_hash(), "hash"),
        (abilities.tells_vlan(), "VLAN tag"),
    ]);
    let metadata = if metadata.is_empty() {
        "none"
    } else {
        &metadata
    };
    report.add_ability(DRIVER, format!("{features}; metadata: {metadata}"));
}

fn names(named: &[(bool, &str)]) -> String {
    let present = named.iter().filter(|(is_present, _)| *is_present);
    let present: Vec<_> = present.map(|(_, name)| *name).collect();
    present.join(", ")
}

/// Finds programs and filters that others have attached to the interface.
pub(super) fn check_programs(context: &InterfaceContext<'_>, report: &mut Report) {
    let (name, index) = (context.link.ifname(), context.link.ifindex().0);
    match report.value_or_unknown(XDP_PROGRAM, AttachedXdpProgram::of(index)) {
        Some(Some(holder)) => report.add(attached_xdp(name, &holder)),
        Some(None) => report.add_ability(XDP_PROGRAM, "none"),
        None => {}
    }
    let programs = |hook| {
        let programs = tcx_programs(index, hook)?.into_iter();
        Ok(programs.map(describe_program).collect())
    };
    match at_both_hooks(programs) {
        Ok(hooks) => report_tc(TCX_PROGRAM, name, hooks, report),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
            report.add_unknown(
                TCX_PROGRAM,
                "the kernel does not report it (needs Linux 6.6)",
            );
        }
        Err(error) => report.add_error(TCX_PROGRAM, &error),
    }
    let filters = |hook| {
        Ok(tc_filters(index, hook)?
            .iter()
            .map(describe_filter)
            .collect())
    };
    match at_both_hooks(filters) {
        Ok(hooks) => report_tc(TC_FILTER, name, hooks, report),
        Err(error) => report.add_error(TC_FILTER, &error),
    }
}

/// Descriptions of what is attached at ingress and at egress.
type Hooks = [(TcHook, Vec<String>); 2];

fn at_both_hooks(list: impl Fn(TcHook) -> io::Result<Vec<String>>) -> io::Result<Hooks> {
    let (ingress, egress) = (list(TcHook::Ingress)?, list(TcHook::Egress)?);
    Ok([(TcHook::Ingress, ingress), (TcHook::Egress, egress)])
}

fn report_tc(id: &'static str, name: IfName, hooks: Hooks, report: &mut Report) {
    if hooks.iter().all(|(_, attached)| attached.is_empty()) {
        return report.add_ability(id, "none");
    }
    for (hook, attached) in hooks {
        if !attached.is_empty() {
            report.add(attached_tc(id, name, hook, &attached));
        }
    }
}

fn attached_xdp(name: IfName, holder: &AttachedXdpProgram) -> Finding {
    let observed = format!("on {name}, XDP {holder}");
    let effect = "no capture or counter elsewhere sees packets that it drops or redirects; drop mode, the \
        back ends xdp and xdp-ringbuf, and counting with XDP cannot run beside it";
    let finding = Finding::warning(XDP_PROGRAM, observed, effect);
    if let Some(process) = &holder.process {
        // Only that process knows when its program may go.
        finding.command(format!("ps {}", process.id))
    } else {
        let link = shell_quote(&name.to_string());
        finding.command(format!("ip link set dev {link} {} off", holder.ip_word))
    }
}

fn describe_program(id: u32) -> String {
    match program_name(id) {
        Some(name) => format!("{id} ({name})"),
        None => id.to_string(),
    }
}

fn describe_filter(filter: &TcFilter) -> String {
    let TcFilter { kind, priority, .. } = filter;
    let mut text = format!("{kind} pref {priority}");
    if let Some(name) = &filter.name {
        text = format!("{text} {name}");
    }
    match filter.program {
        Some(id) => format!("{text}, program {}", describe_program(id)),
        None => text,
    }
}

fn attached_tc(id: &'static str, name: IfName, hook: TcHook, attached: &[String]) -> Finding {
    let link = shell_quote(&name.to_string());
    let (kind, separator, command) = if id == TC_FILTER {
        ("filters", "; ", format!("tc filter show dev {link} {hook}"))
    } else {
        ("programs", ", ", format!("bpftool net show dev {link}"))
    };
    let observed = format!(
        "{name} has tc {kind} at {hook}: {}",
        attached.join(separator)
    );
    let effect = match hook {
        TcHook::Ingress => {
            "captures see packets before it: the stack does not receive what it drops or redirects, and \
                receives what it alters altered"
        }
        TcHook::Egress => {
            "captures see packets after it: they miss what it drops or redirects, and show what it alters \
                altered"
        }
    };
    Finding::info(id, observed, effect).command(command)
}
