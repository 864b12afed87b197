//! Receive queues of a device and the room in them.

use netlink::{Channels, Ethtool, RingSizes};

use super::super::place::Place;
use super::super::report::{Finding, Report, Severity};
use super::super::shell::quoted;

const ROOM: &str = "ring-size";
const QUEUES: &str = "queues";
/// A quarter of a millisecond at a million packets a second.
const FEW_DESCRIPTORS: u32 = 256;

pub(super) fn check(place: &Place<'_>, report: &mut Report) {
    let name = place.link.ifname();
    let handle = Ethtool::open();
    let Some(mut ethtool) = report.known(QUEUES, handle) else {
        return;
    };
    let name_text = name.to_string();
    match report.known(ROOM, ethtool.ring_sizes(name)) {
        Some(Some(sizes)) => judge_sizes(&name_text, &sizes, report),
        Some(None) => report.can(ROOM, "none"),
        None => {}
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    match report.known(QUEUES, ethtool.channels(name)) {
        Some(Some(channels)) => {
            let is_device = place.link.kind_name().is_none();
            judge_queues(&name_text, &channels, processors, is_device, report);
        }
        Some(None) => match place.link.rx_queue_count {
            Some(count) => report.can(
                QUEUES,
                format!("{count} to receive, as the driver has made"),
            ),
            None => report.unknown(QUEUES, "the driver does not tell"),
        },
        None => {}
    }
}

fn judge_sizes(name: &str, sizes: &RingSizes, report: &mut Report) {
    let Some(receive) = sizes.receive else {
        return report.unknown(ROOM, "the driver does not tell how long its rings are");
    };
    let most = sizes.receive_max.unwrap_or(receive);
    report.can(
        ROOM,
        format!("{receive} of {most} descriptors a receive queue"),
    );
    if receive < FEW_DESCRIPTORS && receive < most {
        let seen = format!("the receive rings of {name} have {receive} descriptors, of {most}");
        let spoils = "bursts are lost in the device before the kernel sees them (lost.nic); longer \
            rings interrupt the link for a moment";
        let finding = Finding::new(ROOM, Severity::Warning, seen, spoils);
        report.found(finding.remedy(format!("ethtool -G {} rx {most}", quoted(name))));
    }
}

fn judge_queues(
    name: &str,
    channels: &Channels,
    processors: usize,
    is_device: bool,
    report: &mut Report,
) {
    let sum = |alone: Option<u32>, combined: Option<u32>| {
        alone.unwrap_or(0).saturating_add(combined.unwrap_or(0))
    };
    let now = sum(channels.receive, channels.combined);
    let most = sum(channels.receive_max, channels.combined_max);
    report.can(
        QUEUES,
        format!("{now} of {most} to receive, {processors} processors"),
    );
    // Software's interfaces have packets brought by who sends them, on whichever processor that is.
    let useful = most.min(u32::try_from(processors).unwrap_or(u32::MAX));
    if is_device && now == 1 && useful > 1 {
        let seen = format!("{name} has one receive queue, of {most}");
        let spoils = "one processor takes all packets off the device, whatever the others do";
        let kind = if channels.combined_max.is_some() {
            "combined"
        } else {
            "rx"
        };
        let finding = Finding::new(QUEUES, Severity::Info, seen, spoils);
        report.found(finding.remedy(format!("ethtool -L {} {kind} {useful}", quoted(name))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_ring_is_found_in_given_values() {
        let found = |receive, most| {
            let mut sizes = RingSizes::default();
            (sizes.receive, sizes.receive_max) = (Some(receive), Some(most));
            let mut report = Report::default();
            judge_sizes("eth0", &sizes, &mut report);
            report.findings.pop().map(|finding| finding.remedy)
        };
        assert_eq!(
            found(64, 4096),
            Some(vec!["ethtool -G eth0 rx 4096".into()])
        );
        assert_eq!(found(64, 64), None);
        assert_eq!(found(512, 4096), None);
    }

    #[test]
    fn a_single_queue_is_found_in_given_values() {
        let found = |now, processors, is_device| {
            let mut channels = Channels::default();
            (channels.combined, channels.combined_max) = (Some(now), Some(8));
            let mut report = Report::default();
            judge_queues("eth0", &channels, processors, is_device, &mut report);
            report.findings.pop().map(|finding| finding.remedy)
        };
        assert_eq!(
            found(1, 4, true),
            Some(vec!["ethtool -L eth0 combined 4".into()])
        );
        assert_eq!(found(2, 4, true), None);
        assert_eq!(found(1, 1, true), None);
        assert_eq!(found(1, 4, false), None);
    }
}
