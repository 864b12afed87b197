//! The names that this machine knows.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use filter::{NameResolver, Transport};

use super::builtin;
use super::files::{self, Ethers, Services};

/// A table that is read on first use.
type Table<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

/// Resolves hosts with getaddrinfo(3) and everything else with the files in `/etc`, each read once on
/// first use. Services and protocols that these lack come from a short built-in list.
pub struct SystemNames {
    services: Table<Services>,
    protocols: Table<HashMap<String, u8>>,
    networks: Table<HashMap<String, Ipv4Addr>>,
    ethers: Table<Ethers>,
    /// Each host is resolved once, so that all terms of a filter use the same addresses.
    hosts: Mutex<HashMap<String, Vec<IpAddr>>>,
}

impl SystemNames {
    /// Reads nothing yet.
    pub fn new() -> Self {
        Self::from_folder(Path::new("/etc"))
    }

    /// Uses the files in `folder`.
    fn from_folder(folder: &Path) -> Self {
        fn table<T: 'static>(path: PathBuf, parse: fn(&str) -> T) -> Table<T> {
            LazyLock::new(Box::new(move || parse(&files::text(&path))))
        }
        Self {
            services: table(folder.join("services"), files::services),
            protocols: table(folder.join("protocols"), files::protocols),
            networks: table(folder.join("networks"), files::networks),
            ethers: table(folder.join("ethers"), files::ethers),
            hosts: Mutex::default(),
        }
    }
}

impl Default for SystemNames {
    fn default() -> Self {
        Self::new()
    }
}

impl NameResolver for SystemNames {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(name) {
            return known.clone();
        }
        let mut addresses = Vec::new();
        // For a filter a failed query is the same as an unknown host: no address.
        for address in (name, 0).to_socket_addrs().into_iter().flatten() {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
        hosts.insert(name.to_owned(), addresses.clone());
        addresses
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        self.networks.get(name).copied()
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        let ethers = &*self.ethers;
        if let Some(mac) = ethers.by_name.get(name) {
            return Some(*mac);
        }
        if ethers.by_address.is_empty() {
            return None;
        }
        let addresses = self.host(name);
        let mut known = addresses.iter().filter_map(|a| ethers.by_address.get(a));
        known.next().copied()
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        let protocol = match transport {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
            Transport::Sctp => "sctp",
            _ => return None,
        };
        let key = (name.to_owned(), protocol.to_owned());
        let port = self.services.get(&key).copied();
        port.or_else(|| builtin::port(name, protocol))
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        let number = self.protocols.get(name).copied();
        number.or_else(|| builtin::protocol(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn without_files_common_names_are_known() {
        let system = SystemNames::from_folder(Path::new("/nonexistent"));
        assert_eq!(system.port("http", Transport::Tcp), Some(80));
        assert_eq!(system.port("http", Transport::Udp), None);
        assert_eq!(system.port("domain", Transport::Udp), Some(53));
        assert_eq!(system.port("http", Transport::Sctp), None);
        assert_eq!(system.protocol("ospf"), Some(89));
        assert_eq!(system.network("loopback"), None);
        assert_eq!(system.ethernet("printer"), None);
    }

    #[test]
    fn files_precede_the_built_in_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        write("services", "http 8000/tcp\nodd\nmetrics 9100/sctp\n");
        write("protocols", "shim 250 SHIM\n");
        write("networks", "loopback 127.0.0.0\n");
        write(
            "ethers",
            "2:0:0:0:0:1 printer\n2:0:0:0:0:2 127.0.0.1\n2:0:0:0:0:3 ::1\n",
        );
        let system = SystemNames::from_folder(folder.path());
        assert_eq!(system.port("http", Transport::Tcp), Some(8000));
        assert_eq!(system.port("metrics", Transport::Sctp), Some(9100));
        assert_eq!(system.port("https", Transport::Udp), Some(443));
        assert_eq!(system.protocol("SHIM"), Some(250));
        assert_eq!(
            system.network("loopback"),
            Some(Ipv4Addr::new(0, 0, 0, 127))
        );
        assert_eq!(system.ethernet("printer"), Some([2, 0, 0, 0, 0, 1]));
        let loopback = system.ethernet("localhost");
        assert!(matches!(loopback, Some([2, 0, 0, 0, 0, 2 | 3])));
        // Each file is read once.
        write("services", "http 9000/tcp\n");
        assert_eq!(system.port("http", Transport::Tcp), Some(8000));
    }

    /// Compared with getent(1), which calls getaddrinfo(3).
    #[test]
    fn hosts_are_those_of_getaddrinfo() {
        let system = SystemNames::new();
        let output = lab::tool::command("getent")
            .args(["ahosts", "localhost"])
            .output()
            .expect("getent runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut expected: Vec<IpAddr> = text
            .lines()
            .map(|line| line.split(' ').next().unwrap().parse().expect("an address"))
            .collect();
        expected.sort_unstable();
        expected.dedup();
        let mut found = system.host("localhost");
        found.sort_unstable();
        assert_eq!(found, expected);
        for unknown in ["", "nul\0inside", "no such host"] {
            assert_eq!(system.host(unknown), Vec::<IpAddr>::new());
        }
    }

    /// Compared with getent(1), which calls libc, for all services and protocols of this machine.
    #[test]
    fn services_and_protocols_are_those_of_libc() {
        let system = SystemNames::new();
        let all = |database: &str| {
            let output = lab::tool::command("getent").arg(database).output();
            String::from_utf8(output.expect("getent runs").stdout).expect("text")
        };
        let mut seen = HashMap::new();
        for line in all("services").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (port, protocol) = words[1].split_once('/').expect("a port");
            let transport = match protocol {
                "tcp" => Transport::Tcp,
                "udp" => Transport::Udp,
                "sctp" => Transport::Sctp,
                _ => continue,
            };
            for name in words[2..].iter().chain([&words[0]]) {
                let port: u16 = port.parse().expect("a number");
                let first = *seen.entry((*name, protocol)).or_insert(port);
                assert_eq!(system.port(name, transport), Some(first), "{line}");
            }
        }
        for line in all("protocols").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Ok(number) = words[1].parse::<u8>() else {
                continue;
            };
            assert_eq!(system.protocol(words[0]), Some(number), "{line}");
        }
    }
}
