//! Common names, for machines without `/etc/services` and `/etc/protocols`. On Debian both come with a
//! package that small systems do not install.

/// Name, port, and whether TCP and UDP use it.
///
/// <https://www.iana.org/assignments/service-names-port-numbers>
const SERVICES: &[(&str, u16, bool, bool)] = &[
    ("echo", 7, true, true),
    ("discard", 9, true, true),
    ("ftp-data", 20, true, false),
    ("ftp", 21, true, false),
    ("ssh", 22, true, false),
    ("telnet", 23, true, false),
    ("smtp", 25, true, false),
    ("domain", 53, true, true),
    ("bootps", 67, false, true),
    ("bootpc", 68, false, true),
    ("tftp", 69, false, true),
    ("http", 80, true, false),
    ("www", 80, true, false),
    ("kerberos", 88, true, true),
    ("pop3", 110, true, false),
    ("sunrpc", 111, true, true),
    ("ntp", 123, false, true),
    ("netbios-ns", 137, false, true),
    ("netbios-dgm", 138, false, true),
    ("netbios-ssn", 139, true, false),
    ("imap2", 143, true, false),
    ("imap", 143, true, false),
    ("snmp", 161, true, true),
    ("snmp-trap", 162, true, true),
    ("bgp", 179, true, false),
    ("ldap", 389, true, true),
    ("https", 443, true, true),
    ("microsoft-ds", 445, true, true),
    ("isakmp", 500, false, true),
    ("syslog", 514, false, true),
    ("submission", 587, true, false),
    ("ldaps", 636, true, true),
    ("domain-s", 853, true, true),
    ("rsync", 873, true, false),
    ("imaps", 993, true, false),
    ("pop3s", 995, true, false),
    ("socks", 1080, true, false),
    ("openvpn", 1194, true, true),
    ("l2f", 1701, false, true),
    ("l2tp", 1701, false, true),
    ("radius", 1812, true, true),
    ("radius-acct", 1813, true, true),
    ("nfs", 2049, true, true),
    ("mysql", 3306, true, false),
    ("ms-wbt-server", 3389, true, false),
    ("ipsec-nat-t", 4500, false, true),
    ("sip", 5060, true, true),
    ("sip-tls", 5061, true, true),
    ("mdns", 5353, false, true),
    ("postgresql", 5432, true, false),
    ("x11", 6000, true, false),
    ("http-alt", 8080, true, true),
];

/// Protocols over IP.
///
/// <https://www.iana.org/assignments/protocol-numbers>
const PROTOCOLS: &[(&str, u8)] = &[
    ("icmp", 1),
    ("igmp", 2),
    ("ipencap", 4),
    ("tcp", 6),
    ("egp", 8),
    ("igp", 9),
    ("udp", 17),
    ("dccp", 33),
    ("ipv6", 41),
    ("rsvp", 46),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("ipv6-icmp", 58),
    ("eigrp", 88),
    ("ospf", 89),
    ("ipip", 94),
    ("pim", 103),
    ("vrrp", 112),
    ("l2tp", 115),
    ("sctp", 132),
    ("udplite", 136),
];

/// The port of `name` over the protocol called `protocol`.
pub fn port(name: &str, protocol: &str) -> Option<u16> {
    let over = |row: &&(&str, u16, bool, bool)| match protocol {
        "tcp" => row.2,
        "udp" => row.3,
        _ => false,
    };
    let mut rows = SERVICES.iter().filter(|row| row.0 == name);
    rows.find(over).map(|row| row.1)
}

/// The number of a protocol over IP.
pub fn protocol(name: &str) -> Option<u8> {
    let row = PROTOCOLS.iter().find(|row| row.0 == name);
    row.map(|row| row.1)
}
