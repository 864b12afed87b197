//! Memory that may be locked: what AF_XDP sockets are made of.

use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "locked-memory";
const ENOUGH_BYTES: u64 = 64 << 20;

pub(super) fn check(_: &Roots, report: &mut Report) {
    let sets = match capabilities(None) {
        Ok(sets) => sets,
        Err(errno) => return report.failed(ID, &std::io::Error::from(errno)),
    };
    if sets.effective.contains(CapabilitySet::IPC_LOCK) && is_in_first_user_namespace() {
        return report.can(ID, "any amount (CAP_IPC_LOCK)");
    }
    let Some(bytes) = getrlimit(Resource::Memlock).current else {
        return report.can(ID, "any amount");
    };
    report.can(ID, format!("{bytes} bytes"));
    if bytes < ENOUGH_BYTES {
        let seen = format!("the limit of locked memory is {bytes} bytes, without CAP_IPC_LOCK");
        let spoils = "rings of AF_XDP sockets are no larger; before Linux 5.11 nor are eBPF maps";
        let finding = Finding::new(ID, Severity::Warning, seen, spoils);
        report.found(finding.remedy("prlimit --pid $$ --memlock=unlimited"));
    }
}

/// A capability over another user namespace lifts no limit (`xdp_umem_account_pages`,
/// net/xdp/xdp\_umem.c). All users are themselves in the first one only, as a rule.
fn is_in_first_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}
