//! Packet rings: which versions there are.

use std::time::Duration;

use ring::{Backend, Delivery};

use super::super::measure::{Loop, LoopError};
use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "ring";

pub(super) fn check(_: &Roots, report: &mut Report) {
    let batch = Delivery::Batch {
        min_bytes: 1 << 16,
        timeout: Duration::from_millis(1),
    };
    let mut there = Vec::new();
    for (backend, delivery) in [
        (Backend::PacketV2, Delivery::Immediate),
        (Backend::PacketV3, batch),
    ] {
        let told = Loop::open(backend, delivery).and_then(|mut looped| looped.deliver());
        match told {
            Ok(_) => there.push(backend.name()),
            Err(LoopError::Silence) => report.found(silent(backend)),
            Err(error) => {
                report.failed(ID, &error);
                // The other version fails for the same reason.
                break;
            }
        }
    }
    if !there.is_empty() {
        report.can(ID, format!("{} (a packet came through)", there.join(", ")));
    }
}

fn silent(backend: Backend) -> Finding {
    let other = match backend {
        Backend::PacketV2 => Backend::PacketV3,
        Backend::PacketV3 => Backend::PacketV2,
    };
    let seen = format!(
        "a {} ring on lo was opened and got no packet",
        backend.name()
    );
    let spoils = "captures with this ring see nothing";
    let finding = Finding::new(ID, Severity::Severe, seen, spoils);
    finding.advice(&format!("capture with --backend {}", other.name()))
}
