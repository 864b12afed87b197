//! Filters in the language of pcap-filter(7), as C writes them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};

use tapline::filter::{NameResolver, SystemNames, Transport, check_syntax};
use tapline::{Expression, Filter};

use crate::failure::Error;

/// Resolves services and protocols, as in `port domain`. Hosts and networks stay unknown: a call would wait for a name server.
pub struct ServiceNames;

/// The names in `/etc`, which are read when a filter needs them.
static SYSTEM: LazyLock<SystemNames> = LazyLock::new(SystemNames::new);

impl NameResolver for ServiceNames {
    fn host(&self, _: &str) -> Vec<IpAddr> {
        Vec::new()
    }

    fn network(&self, _: &str) -> Option<Ipv4Addr> {
        None
    }

    fn ethernet(&self, _: &str) -> Option<[u8; 6]> {
        None
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        SYSTEM.port(name, transport)
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        SYSTEM.protocol(name)
    }
}

/// The filter in `text`, whose names are looked up when it is compiled.
///
/// # Errors
/// The syntax of the text is wrong.
pub fn filter(text: &str) -> Result<Filter, Error> {
    check_syntax(text)?;
    Ok(Expression::new(text, Arc::new(ServiceNames)).into())
}

#[cfg(test)]
mod tests {
    use tapline::filter::{CompiledFilter, FilterOptions, LinkType};

    use super::*;

    #[test]
    fn services_and_protocols_have_names_and_hosts_have_none() {
        let options = FilterOptions::new(LinkType::Ethernet);
        let classic = |text: &str| {
            let filter = CompiledFilter::new(text, &options, &ServiceNames).ok()?;
            Some(filter.classic().ok()?.instructions().to_vec())
        };
        for (named, numbered) in [
            ("port domain", "port 53"),
            ("tcp port https", "tcp port 443"),
            ("udp dst port domain", "udp dst port 53"),
            ("ip proto ospf", "ip proto 89"),
        ] {
            let expected = classic(numbered);
            assert!(expected.is_some(), "{numbered}");
            assert_eq!(classic(named), expected, "{named}");
        }
        for unknown in ["host localhost", "net loopback", "port no-such-service"] {
            assert_eq!(classic(unknown), None, "{unknown}");
        }
    }
}
