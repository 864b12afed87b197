//! Multicast addresses, compared with ip(8).

use crate::support::stack::{done, json_of, objects, refused, theirs, trimmed};
use lab::Host;

#[test]
fn multicast_addresses_are_those_of_ip() {
    let host = Host::new("host");
    for line in [
        "link set lo up",
        "link add va type veth peer name vb",
        "link set va up",
        "addr add 10.0.0.1/24 dev va",
        "addr add 239.1.2.3/32 dev va autojoin",
        "addr add 2001:db8::1/64 dev va nodad",
        "addr add ff05::5/128 dev va autojoin",
    ] {
        done(&host, line);
    }
    theirs(&host, "ip", "maddr add 33:33:00:00:00:77 dev va");
    for line in [
        "maddr",
        "maddr show",
        "maddr show va",
        "maddr show dev va",
        "-4 maddr",
        "-6 maddr list lo",
        "maddress lst",
        "maddr show dev nosuch",
    ] {
        let shown = trimmed(&theirs(&host, "ip", line));
        assert_eq!(shown.is_empty(), line.ends_with("nosuch"), "{line}");
        assert_eq!(trimmed(&done(&host, line)), shown, "{line}");
        let ours = objects(&done(&host, &format!("-j {line}")));
        assert_eq!(ours, json_of(&host, "ip", line), "{line}");
    }
    let shown = done(&host, "maddr show va");
    assert!(shown.contains("33:33:00:00:00:77 static"), "{shown}");
    assert!(shown.contains("239.1.2.3"), "{shown}");
    for line in [
        "maddr add 33:33:00:00:00:78 dev va",
        "maddr show dev va frob",
        "maddr frob",
    ] {
        assert_eq!(refused(&host, line).1, 2, "{line}");
    }
    assert_eq!(refused(&host, "-n nowhere maddr").1, 1);
}
