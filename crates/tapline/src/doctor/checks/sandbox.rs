//! Whether this kernel can restrict a program that parses what strangers send.

use abi::landlock::landlock_version;

use super::sockets::not_visible;
use crate::doctor::paths::SystemPaths;
use crate::doctor::report::{Finding, Report};

const ID: &str = "sandbox";

/// Names the actions of filters, among them the one that kills a process.
const ACTIONS: &str = "kernel.seccomp.actions_avail";
const KILL: &str = "kill_process";

/// The first version of Landlock that restricts TCP: Linux 6.7.
const TCP_VERSION: u32 = 4;

pub(super) fn check(paths: &SystemPaths, report: &mut Report) {
    let actions = match paths.sysctl(ACTIONS) {
        Ok(actions) => actions,
        Err(error) => return report.add_error(ID, &error),
    };
    let Some(actions) = actions else {
        return report.add_unknown(ID, not_visible(ACTIONS));
    };
    let has_seccomp = actions.split_whitespace().any(|action| action == KILL);
    match (landlock_version(), has_seccomp) {
        (Err(error), _) => report.add_error(ID, &error),
        (Ok(Some(version)), true) => {
            let files = if version >= TCP_VERSION {
                "files and TCP"
            } else {
                "files"
            };
            let value =
                format!("Landlock (version {version}) restricts {files}, seccomp system calls");
            report.add_ability(ID, value);
        }
        (Ok(landlock), _) => {
            let lacks = match (landlock.is_some(), has_seccomp) {
                (false, false) => "neither Landlock nor seccomp",
                (false, true) => "no Landlock",
                _ => "no seccomp",
            };
            report.add(Finding::warning(
                ID,
                format!("this kernel has {lacks}"),
                "a capture, a ping or a reader of files that is taken over by hostile packets can do more harm",
            ));
        }
    }
}
