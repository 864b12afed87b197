//! Where to listen, as typed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads `ADDR:PORT`, or `:PORT` and `PORT`, which stand for the loopback: counters are for others
/// to see only if that is asked for.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    let port = ["localhost:", ":", ""]
        .iter()
        .find_map(|start| port(text.strip_prefix(start)?));
    if let Some(port) = port {
        return Ok(SocketAddr::new(loopback, port));
    }
    text.parse().map_err(|_| {
        "use PORT on the loopback, or ADDR:PORT such as 192.0.2.1:9000 or [::]:9000".to_owned()
    })
}

/// A number alone, without a sign.
fn port(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_the_loopback() {
        for (text, expected) in [
            ("9000", "127.0.0.1:9000"),
            (":9000", "127.0.0.1:9000"),
            ("localhost:9000", "127.0.0.1:9000"),
            ("0", "127.0.0.1:0"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("0.0.0.0:65535", "0.0.0.0:65535"),
            ("[::1]:9000", "[::1]:9000"),
        ] {
            assert_eq!(address(text), Ok(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for wrong in [
            "",
            ":",
            "65536",
            ":-1",
            "+1",
            ":+1",
            "192.0.2.1",
            "192.0.2.1:",
            "::1",
            "[::1]",
            "192.0.2.256:80",
            "host.example:80",
            "localhost",
            "localhost:",
            "http://[::1]:80",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
