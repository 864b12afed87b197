//! Locates the programs that tests compare with. A missing program is a failure, not a skip.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tool and its Debian package.
const PACKAGES: &[(&str, &str)] = &[
    ("arp-scan", "arp-scan"),
    ("bash", "bash"),
    ("bpftool", "bpftool"),
    ("bridge", "iproute2"),
    ("busybox", "busybox-static"),
    ("capinfos", "wireshark-common"),
    ("cat", "coreutils"),
    ("cc", "gcc"),
    ("cmake", "cmake"),
    ("cpio", "cpio"),
    ("dumpcap", "wireshark-common"),
    ("editcap", "wireshark-common"),
    ("ethtool", "ethtool"),
    ("getent", "libc-bin"),
    ("gzip", "gzip"),
    ("fping", "fping"),
    ("g++", "g++"),
    ("ip", "iproute2"),
    ("iperf3", "iperf3"),
    ("linux.uml", "user-mode-linux"),
    ("masscan", "masscan"),
    ("mausezahn", "netsniff-ng"),
    ("mergecap", "wireshark-common"),
    ("mkfifo", "coreutils"),
    ("modprobe", "kmod"),
    ("netsniff-ng", "netsniff-ng"),
    ("nfcapd", "nfdump"),
    ("nfdump", "nfdump"),
    ("nft", "nftables"),
    ("ngrep", "ngrep"),
    ("nm", "binutils"),
    ("nmap", "nmap"),
    ("nsenter", "util-linux"),
    ("openssl", "openssl"),
    ("p0f", "p0f"),
    ("ping", "iputils-ping"),
    ("pkg-config", "pkg-config"),
    ("prlimit", "util-linux"),
    ("python3", "python3"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("reordercap", "wireshark-common"),
    ("rtmon", "iproute2"),
    ("setpriv", "util-linux"),
    ("setsid", "util-linux"),
    ("ss", "iproute2"),
    ("strace", "strace"),
    ("strip", "binutils"),
    ("tc", "iproute2"),
    ("tcpdump", "tcpdump"),
    ("tcpreplay", "tcpreplay"),
    ("text2pcap", "wireshark-common"),
    ("trafgen", "netsniff-ng"),
    ("tshark", "tshark"),
    ("unshare", "util-linux"),
    ("valgrind", "valgrind"),
    ("xdpdump", "xdp-tools"),
    ("zmap", "zmap"),
    ("zstd", "zstd"),
];

/// Path of `tool`: in a folder of `PATH`, or in Debian's `sbin` folders.
///
/// # Panics
/// If it is not installed; the message names the Debian package. Also if it is not listed here: add it, so that the
/// message can name its package.
#[track_caller]
pub fn path(tool: &str) -> PathBuf {
    let package = package(tool);
    find(tool).unwrap_or_else(|| panic!("{tool} is missing: apt-get install {package}"))
}

/// Like [`path`], but returns `None` if `tool` is not installed.
///
/// # Panics
/// If it is not listed here.
#[track_caller]
pub fn find(tool: &str) -> Option<PathBuf> {
    package(tool);
    let folders = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&folders).chain([Path::new("/usr/sbin").into()]);
    let mut places = folders.map(|folder| folder.join(tool));
    places.find(|place| place.is_file())
}

/// Debian package of `tool`.
///
/// # Panics
/// If it is not listed here.
#[track_caller]
pub fn package(tool: &str) -> &'static str {
    let entry = PACKAGES.iter().find(|(name, _)| *name == tool);
    let (_, package) = entry.unwrap_or_else(|| panic!("{tool} is not among the tools of lab"));
    package
}

/// Returns a command that runs `tool` here. [`Host::command`](crate::Host::command) runs it on a test host.
///
/// # Panics
/// As [`path`].
#[track_caller]
pub fn command(tool: &str) -> Command {
    Command::new(path(tool))
}

/// Returns a command that runs the Python of `packaging/python.sh`, which has the engines that read Parquet and Arrow.
///
/// # Panics
/// If `make test` has not made it.
#[track_caller]
pub fn python() -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = root.join("target/python/bin/python");
    assert!(
        python.is_file(),
        "{} is missing: packaging/python.sh target/python",
        python.display()
    );
    Command::new(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_outside_path_too() {
        assert!(path("ip").is_file());
    }

    #[test]
    #[should_panic(expected = "not among the tools of lab")]
    fn an_unlisted_tool_is_refused() {
        path("no-such-tool");
    }
}
