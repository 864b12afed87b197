//! Whether the link is up, its receive queues, and the length of their rings.

use netlink::{Channels, Ethtool, LinkFlags, RingSizes};

use crate::doctor::change::shell_quote;
use crate::doctor::paths::InterfaceContext;
use crate::doctor::report::{Finding, Report};

const LINK: &str = "link";

pub(super) fn check_link_state(context: &InterfaceContext<'_>, report: &mut Report) {
    let link = context.link;
    let name = link.ifname();
    let kind = match link.kind_name() {
        Some(kind) => kind,
        None if link.is_loopback() => "loopback",
        None => "device",
    };
    let mtu = link
        .mtu
        .map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    report.add_ability(LINK, format!("{name}: {kind}{mtu}"));
    let quoted = shell_quote(&name.to_string());
    if link.up != Some(true) {
        let finding = Finding::severe(LINK, format!("{name} is down"), "no packet can pass");
        report.add(finding.command(format!("ip link set {quoted} up")));
    } else if !link.flags.is_some_and(LinkFlags::has_carrier) {
        let observed = format!("{name} has no carrier");
        let finding = Finding::severe(
            LINK,
            observed,
            "no packet can pass until the other end is up",
        );
        report.add(finding.command(format!("ip link show {quoted}")));
    }
}

const RING_SIZE: &str = "ring-size";
const QUEUES: &str = "queues";
/// A quarter of a millisecond at 1 Mpps.
const MIN_DESCRIPTORS: u32 = 256;

pub(super) fn check_queues(context: &InterfaceContext<'_>, report: &mut Report) {
    let name = context.link.ifname();
    let Some(mut ethtool) = report.value_or_unknown(QUEUES, Ethtool::open()) else {
        return;
    };
    let name_text = name.to_string();
    match report.value_or_unknown(RING_SIZE, ethtool.ring_sizes(name)) {
        Some(Some(sizes)) => judge_ring_sizes(&name_text, &sizes, report),
        Some(None) => report.add_ability(RING_SIZE, "none"),
        None => {}
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    match report.value_or_unknown(QUEUES, ethtool.channels(name)) {
        Some(Some(channels)) => {
            let is_device = context.link.kind_name().is_none();
            judge_queues(&name_text, &channels, cpus, is_device, report);
        }
        Some(None) => match context.link.rx_queue_count {
            Some(count) => {
                let value = format!("{count} receive queues, fixed by the driver");
                report.add_ability(QUEUES, value);
            }
            None => report.add_unknown(QUEUES, "the driver does not report them"),
        },
        None => {}
    }
}

fn judge_ring_sizes(name: &str, sizes: &RingSizes, report: &mut Report) {
    let Some(receive) = sizes.receive else {
        return report.add_unknown(RING_SIZE, "the driver does not report its ring sizes");
    };
    let max = sizes.receive_max.unwrap_or(receive);
    let value = format!("{receive} of {max} descriptors per receive queue");
    report.add_ability(RING_SIZE, value);
    if receive < MIN_DESCRIPTORS && receive < max {
        let observed = format!("the receive rings of {name} have {receive} of {max} descriptors");
        let effect = "the device drops bursts before the kernel sees them (lost.nic); changing the ring size \
            interrupts the link briefly";
        let finding = Finding::warning(RING_SIZE, observed, effect);
        report.add(finding.command(format!("ethtool -G {} rx {max}", shell_quote(name))));
    }
}

fn judge_queues(
    name: &str,
    channels: &Channels,
    cpus: usize,
    is_device: bool,
    report: &mut Report,
) {
    let sum = |receive: Option<u32>, combined: Option<u32>| {
        receive.unwrap_or(0).saturating_add(combined.unwrap_or(0))
    };
    let now = sum(channels.receive, channels.combined);
    let max = sum(channels.receive_max, channels.combined_max);
    report.add_ability(
        QUEUES,
        format!("{now} of {max} receive queues, {cpus} CPUs"),
    );
    // A virtual interface receives on the sender's CPU, whichever that is.
    let useful = max.min(u32::try_from(cpus).unwrap_or(u32::MAX));
    if is_device && now == 1 && useful > 1 {
        let observed = format!("{name} has 1 of {max} receive queues");
        let effect = "one CPU receives all packets of the device";
        let kind = if channels.combined_max.is_some() {
            "combined"
        } else {
            "rx"
        };
        let command = format!("ethtool -L {} {kind} {useful}", shell_quote(name));
        report.add(Finding::info(QUEUES, observed, effect).command(command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_ring_is_a_finding() {
        for (receive, max, remedy) in [
            (64, 4096, Some("ethtool -G eth0 rx 4096")),
            (64, 64, None),
            (512, 4096, None),
        ] {
            let mut sizes = RingSizes::default();
            (sizes.receive, sizes.receive_max) = (Some(receive), Some(max));
            let mut report = Report::default();
            judge_ring_sizes("eth0", &sizes, &mut report);
            let found = report.findings.pop().map(|finding| finding.remedy);
            assert_eq!(found, remedy.map(|command| vec![command.to_owned()]));
        }
    }

    #[test]
    fn a_single_queue_is_a_finding_on_a_device_with_several_cpus() {
        for (now, cpus, is_device, remedy) in [
            (1, 4, true, Some("ethtool -L eth0 combined 4")),
            (2, 4, true, None),
            (1, 1, true, None),
            (1, 4, false, None),
        ] {
            let mut channels = Channels::default();
            (channels.combined, channels.combined_max) = (Some(now), Some(8));
            let mut report = Report::default();
            judge_queues("eth0", &channels, cpus, is_device, &mut report);
            let found = report.findings.pop().map(|finding| finding.remedy);
            assert_eq!(found, remedy.map(|command| vec![command.to_owned()]));
        }
    }
}
