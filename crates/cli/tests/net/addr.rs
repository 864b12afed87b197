//! Addresses are printed below their links, selected and flushed as by ip(8). Compared with its text and JSON.

use crate::support::stack::{done, json_of, objects, refused, theirs, trimmed};
use lab::Host;
use serde_json::{Value, json};

fn host() -> Host {
    let host = Host::new("host");
    done(&host, "link add br0 type bridge up");
    done(&host, "link add va type veth peer name vb");
    done(&host, "link set va master br0 up");
    done(&host, "link set vb up");
    done(&host, "link add f0 type ifb");
    done(&host, "addr add 10.0.0.1/24 brd + dev vb");
    done(&host, "addr add 10.0.0.2/24 dev vb label vb:x");
    done(&host, "addr add 10.0.9.1 peer 10.0.9.2/32 dev va metric 7");
    done(&host, "addr add 2001:db8::1/64 nodad dev vb");
    done(
        &host,
        "addr add 203.0.113.1/32 scope link dev br0 valid_lft 9000 preferred_lft 9000",
    );
    host
}

/// As newer versions of ip(8) than this system's, tapline also prints which program added an address (`proto`).
fn lines(text: &str) -> Vec<String> {
    let text = text
        .replace(" proto kernel_ll", "")
        .replace(" proto kernel_lo", "");
    let text = text.replace(" \\", "\\");
    let words = |line: String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    trimmed(&text).into_iter().map(words).collect()
}

/// As they are said to both; the lifetimes that pass are not compared.
const QUESTIONS: [&str; 17] = [
    "addr",
    "addr show vb",
    "addr show dev va",
    "addr show up",
    "addr show up scope link",
    "addr show scope global",
    "addr show to 10.0.0.0/8",
    "addr show to 10.0.0.2",
    "addr show to 2001:db8::/32",
    "addr show master br0",
    "addr show type veth",
    "addr show type bridge_slave",
    "addr show secondary",
    "addr show primary to 10.0.0.0/24",
    "addr show dynamic",
    "addr show permanent dev vb",
    "addr show group default",
];

/// Whether ip(8) supports this list: not a network of the other family, and not a kind of link where it does not show links.
fn is_possible(flags: &str, line: &str) -> bool {
    let (v4, v6) = (line.contains("to 10."), line.contains("to 2001:"));
    let kind = line.contains("type");
    match flags {
        "-4 " => !v6,
        "-6 " => !v4 && !kind,
        "-o " => !kind,
        _ => true,
    }
}

#[test]
fn the_text_is_that_of_ip() {
    let host = host();
    let timeless = |flags: &str, text: &str| {
        let mut lines = lines(text);
        // Of bridges newer kernels tell more than ip(8) knows.
        lines.retain(|line| !line.starts_with("bridge"));
        // Of one family ip(8) asks for links in a way that tells less of them.
        lines.retain(|line| !line.contains("sec ") && (flags != "-6 " || line.starts_with("inet")));
        lines
    };
    for flags in ["", "-4 ", "-6 ", "-o ", "-br ", "-d "] {
        for line in QUESTIONS.iter().filter(|line| is_possible(flags, line)) {
            let line = format!("{flags}{line}");
            let ours = timeless(flags, &done(&host, &line));
            assert_eq!(ours, timeless(flags, &theirs(&host, "ip", &line)), "{line}");
        }
    }
}

/// Each key of `theirs` is in `ours` with its value, at any depth; times that pass and counters are there.
#[track_caller]
fn assert_has(ours: &Value, theirs: &Value, at: &str) {
    match theirs {
        Value::Object(fields) => {
            for (key, value) in fields {
                let at = format!("{at}.{key}");
                if ["_life_time", "_timer", "stats64"]
                    .iter()
                    .any(|end| key.ends_with(end))
                {
                    assert!(!ours[key].is_null(), "{at}");
                } else {
                    assert_has(&ours[key], value, &at);
                }
            }
        }
        Value::Array(values) => {
            let ours = ours.as_array().unwrap_or_else(|| panic!("{at}: {ours}"));
            // There ip(8) has empty objects for those that are not meant.
            let values = values.iter().filter(|value| **value != json!({}));
            let values: Vec<_> = values.collect();
            assert_eq!(ours.len(), values.len(), "{at}: {ours:?}");
            for (ours, theirs) in ours.iter().zip(values) {
                assert_has(ours, theirs, at);
            }
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}

#[test]
fn json_has_the_keys_of_ip_one_object_for_each_link() {
    let host = host();
    for flags in ["", "-4 ", "-br ", "-d -s "] {
        for line in QUESTIONS.iter().filter(|line| is_possible(flags, line)) {
            let line = format!("{flags}{line}");
            let ours = Value::from(objects(&done(&host, &format!("--json {line}"))));
            assert_has(&ours, &Value::from(json_of(&host, "ip", &line)), &line);
        }
    }
    let ours = objects(&done(&host, "addr show --json label vb:*"));
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0]["addr_info"].as_array().map(Vec::len), Some(1));
    assert_eq!(ours[0]["addr_info"][0]["local"], "10.0.0.2");
}

#[test]
fn an_address_goes_without_its_length() {
    let host = host();
    done(&host, "addr del 10.0.0.2 dev vb");
    done(&host, "addr del 10.0.9.1 dev va");
    let left = theirs(&host, "ip", "-4 -br addr");
    assert!(
        !left.contains("10.0.0.2/") && !left.contains("10.0.9.1"),
        "{left}"
    );
    assert!(left.contains("10.0.0.1/24"), "{left}");
}

#[test]
fn addresses_are_flushed_by_what_is_said_of_them() {
    let host = host();
    let left = || theirs(&host, "ip", "-br addr show dev vb");
    done(&host, "addr flush to 10.0.0.2 dev vb");
    assert!(!left().contains("10.0.0.2") && left().contains("10.0.0.1"));
    done(&host, "-6 addr flush dev vb scope global");
    assert!(!left().contains("2001:db8::1") && left().contains("10.0.0.1"));
    done(&host, "addr add 10.0.0.2/24 dev vb");
    done(&host, "addr flush dev vb");
    assert_eq!(left().split_whitespace().count(), 2, "{}", left());
    for (line, status) in [
        ("addr flush", 2),
        ("addr flush up", 2),
        ("addr flush dev nosuch", 1),
        ("route flush", 2),
        ("neigh flush", 2),
    ] {
        let (text, code) = refused(&host, line);
        assert_eq!((text.lines().count(), code), (1, status), "{line}: {text}");
    }
}
