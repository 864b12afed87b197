//! The release of the running kernel, and what depends on it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Whether the running kernel is older than `version`; no if its release cannot be parsed.
///
/// Kernels of distributions may have features of later versions, so this is to explain a failure, not to predict one.
pub fn is_older_than(version: (u32, u32)) -> bool {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    parse(&release).is_some_and(|running| running < version)
}

fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-', '+']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Whether the memory of BPF maps and programs counts towards `RLIMIT_MEMLOCK`, whatever the privileges: before Linux 5.11.
pub fn counts_bpf_as_locked() -> bool {
    is_older_than((5, 11))
}

/// Raises this process's limit of locked memory as far as it may, if BPF needs that. Whether the limit is higher now.
pub(crate) fn raise_locked_memory() -> bool {
    if !counts_bpf_as_locked() {
        return false;
    }
    let before = getrlimit(Resource::Memlock);
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let most = Rlimit {
        current: before.maximum,
        ..before
    };
    // Raising the maximum requires CAP_SYS_RESOURCE.
    let is_set = [unlimited, most]
        .into_iter()
        .any(|limit| setrlimit(Resource::Memlock, limit).is_ok());
    is_set && getrlimit(Resource::Memlock) != before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Releases as `uname -r` prints them.
    #[test]
    fn releases_of_distributions_are_parsed() {
        for (release, expected) in [
            ("5.10.0-32-cloud-amd64", Some((5, 10))),
            ("6.18.44-fc-v669", Some((6, 18))),
            ("6.12+deb13-amd64", Some((6, 12))),
            ("4.18.0-553.el8_10.x86_64", Some((4, 18))),
            ("unknown", None),
        ] {
            assert_eq!(parse(release), expected, "{release}");
        }
        assert!(!is_older_than((3, 0)) && is_older_than((1000, 0)));
    }
}
