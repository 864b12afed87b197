//! Parsers for the name files in `/etc`: rows of words, with comments from `#` on.
//!
//! Invalid rows are skipped, as in libc.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// Maximum bytes read of a file.
const MOST_BYTES: u64 = 16 << 20;

/// The text of a file. Empty if it cannot be read: all of them are optional.
pub fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// Ports by name and protocol, from services(5).
pub type Services = HashMap<(String, String), u16>;

/// Reads services(5): `NAME PORT/PROTOCOL [ALIAS…]`.
pub fn services(text: &str) -> Services {
    let mut services = Services::new();
    for (name, number, aliases) in named(text) {
        let Some((port, protocol)) = number.split_once('/') else {
            continue;
        };
        let Ok(port) = port.parse() else { continue };
        for name in aliases.chain([name]) {
            // As in libc, the first row counts.
            let key = (name.to_owned(), protocol.to_owned());
            services.entry(key).or_insert(port);
        }
    }
    services
}

/// Reads protocols(5): `NAME NUMBER [ALIAS…]`.
pub fn protocols(text: &str) -> HashMap<String, u8> {
    numbers(text, |number| number.parse().ok())
}

/// Reads networks(5): `NAME NUMBER [ALIAS…]`; the number in its low bytes.
///
/// Trailing `.0` parts are optional in that file and therefore ignored: 127.0.0.0 is network 127. A
/// network 0, as `default` often is, is skipped.
pub fn networks(text: &str) -> HashMap<String, Ipv4Addr> {
    numbers(text, network_number)
}

fn network_number(text: &str) -> Option<Ipv4Addr> {
    let mut parts = Vec::new();
    for part in text.split('.') {
        parts.push(part.parse::<u8>().ok().filter(|_| parts.len() < 4)?);
    }
    while parts.last() == Some(&0) {
        parts.pop();
    }
    let number = parts
        .iter()
        .fold(0, |number: u32, &part| number << 8 | u32::from(part));
    (number != 0).then(|| Ipv4Addr::from_bits(number))
}

/// Ethernet addresses by the name or the IP address of their host.
#[derive(Default)]
pub struct Ethers {
    pub by_name: HashMap<String, [u8; 6]>,
    pub by_address: HashMap<IpAddr, [u8; 6]>,
}

/// Reads ethers(5): `MAC HOST`.
pub fn ethers(text: &str) -> Ethers {
    let mut ethers = Ethers::default();
    for (mac, host, _) in named(text) {
        let Some(mac) = mac_address(mac) else {
            continue;
        };
        match host.parse() {
            Ok(address) => ethers.by_address.entry(address).or_insert(mac),
            Err(_) => ethers.by_name.entry(host.to_owned()).or_insert(mac),
        };
    }
    ethers
}

fn mac_address(text: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() <= 2)?;
        // `from_str_radix` would also take a sign.
        let is_hex = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = is_hex.then(|| u8::from_str_radix(part, 16).ok())??;
    }
    parts.next().is_none().then_some(bytes)
}

fn numbers<T: Copy>(text: &str, read: impl Fn(&str) -> Option<T>) -> HashMap<String, T> {
    let mut numbers = HashMap::new();
    for (name, number, aliases) in named(text) {
        let Some(number) = read(number) else { continue };
        for name in aliases.chain([name]) {
            numbers.entry(name.to_owned()).or_insert(number);
        }
    }
    numbers
}

/// The first two words of each row, and the rest.
fn named(text: &str) -> impl Iterator<Item = (&str, &str, std::str::SplitWhitespace<'_>)> {
    text.lines().filter_map(|line| {
        let row = line.split('#').next().unwrap_or(line);
        let mut words = row.split_whitespace();
        Some((words.next()?, words.next()?, words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_a_port_for_each_protocol() {
        let text = "# well known\n\
            http\t80/tcp\twww www-http # the web\n\
            \x20 domain 53/tcp\r\ndomain 53/udp nameserver\n\
            diameter 3868/sctp#no blank\nhttp 8080/tcp\n";
        let services = services(text);
        let port = |name: &str, protocol: &str| {
            services
                .get(&(name.to_owned(), protocol.to_owned()))
                .copied()
        };
        assert_eq!(port("http", "tcp"), Some(80), "the first row counts");
        assert_eq!(port("www-http", "tcp"), Some(80));
        assert_eq!(port("http", "udp"), None);
        assert_eq!(port("nameserver", "udp"), Some(53));
        assert_eq!(port("nameserver", "tcp"), None);
        assert_eq!(port("diameter", "sctp"), Some(3868));
        assert_eq!(port("the", "tcp"), None);
    }

    #[test]
    fn invalid_rows_are_skipped() {
        for odd in [
            "",
            "\n\n#\n#####",
            "http",
            "http /tcp",
            "http 65536/tcp",
            "http -1/tcp",
            "http 80tcp/",
            "\u{0}\u{ffff}/ \u{fe0f}#",
            "http\u{a0}80x",
        ] {
            assert!(services(odd).keys().all(|(_, p)| p.is_empty()), "{odd:?}");
            assert!(protocols(odd).is_empty(), "{odd:?}");
            assert!(networks(odd).is_empty(), "{odd:?}");
            let ethers = ethers(odd);
            assert!(ethers.by_name.is_empty() && ethers.by_address.is_empty());
        }
        assert!(protocols("much 256").is_empty());
        assert_eq!(protocols("ip 0 IP\nx 0x6")["IP"], 0);
    }

    #[test]
    fn networks_are_numbers_without_trailing_zeros() {
        let text = "default 0.0.0.0\nloopback 127.0.0.0\nlocal 10\nlab 192.168.7 lab-net\n\
            whole 10.1.2.3\nmuch 1.2.3.4.5\nlarge 256\nzero-inside 10.0.1";
        let networks = networks(text);
        let number = |name: &str| networks.get(name).map(Ipv4Addr::octets);
        assert_eq!(number("default"), None);
        assert_eq!(number("loopback"), Some([0, 0, 0, 127]));
        assert_eq!(number("local"), Some([0, 0, 0, 10]));
        assert_eq!(number("lab-net"), Some([0, 192, 168, 7]));
        assert_eq!(number("whole"), Some([10, 1, 2, 3]));
        assert_eq!(number("zero-inside"), Some([0, 10, 0, 1]));
        assert_eq!((number("much"), number("large")), (None, None));
    }

    #[test]
    fn ethers_name_hosts_or_addresses() {
        let text = "08:00:20:00:61:CA  pal\n8:0:20:1:2:3 192.0.2.7\n8:0:20:1:2:4 2001:db8::1\n\
            8:0:20:1:2 short\n8:0:20:1:2:3:4 long\n100:0:0:0:0:0 large\n+1:0:0:0:0:0 signed\n:::::: none";
        let ethers = ethers(text);
        assert_eq!(ethers.by_name.len(), 1);
        assert_eq!(ethers.by_name["pal"], [8, 0, 0x20, 0, 0x61, 0xca]);
        let address: IpAddr = "2001:db8::1".parse().expect("an address");
        assert_eq!(ethers.by_address.len(), 2);
        assert_eq!(ethers.by_address[&address], [8, 0, 0x20, 1, 2, 4]);
    }

    #[test]
    fn a_missing_file_is_empty() {
        assert_eq!(text(Path::new("/nonexistent/services")), "");
        assert_eq!(text(Path::new("/etc")), "");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,200}|([a-z0-9./:# \t]{0,20}\n){0,9}") {
            // Each row gives at most one name for each of its words.
            let words = text.split_whitespace().count() + text.split('#').count();
            proptest::prop_assert!(services(&text).len() <= words);
            proptest::prop_assert!(protocols(&text).len() <= words);
            proptest::prop_assert!(networks(&text).len() <= words);
            let ethers = ethers(&text);
            proptest::prop_assert!(ethers.by_name.len() + ethers.by_address.len() <= words);
        }
    }
}
