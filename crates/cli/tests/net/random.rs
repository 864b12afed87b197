//! Random command lines do what the same lines do in ip(8) and bridge(8): run in two equal namespaces, they end alike and
//! leave the same state, as `ip -json` shows it.
//!
//! `make random` runs 3000 lines for each kind of object, otherwise there are few. Which, follows from TAPLINE_SEED.
//!
//! The grammars avoid what differs on purpose: tapline takes `any` and host bits in a prefix of length 0, numbers where
//! ip(8) insists on decimals, IPv6 networks in rules without `-6`, `valid_lft` alone, and the origin of an address;
//! it refuses negative numbers, `rule del` of nothing that a rule could be told by, and words that ip(8) accepts and ignores (`nat`, `nodad` for IPv4, `lladdr` of a proxy), and
//! `rtt` without a unit, which is eighths of a millisecond there.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::str::FromStr;

use lab::oracle::Random;
use lab::{Host, wait};
use serde_json::Value;

use crate::support::stack::tapline;

/// Lines for each kind of object in an ordinary run.
const FEW: u32 = 150;

/// Both namespaces begin with these, and with addresses that do not depend on chance.
const START: [&str; 12] = [
    "link set lo up",
    "link add v0 address 02:00:00:00:00:10 type veth peer name v1 address 02:00:00:00:00:11",
    "link add v2 address 02:00:00:00:00:12 type veth peer name v3 address 02:00:00:00:00:13",
    "link add b0 address 02:00:00:00:00:20 type bridge mcast_snooping 0",
    "link set v0 up",
    "link set v1 up",
    "link set v3 up",
    "link set v2 master b0 up",
    "link set b0 up",
    "addr add 10.0.0.1/24 dev v0",
    "addr add fd00::1/64 dev v0 nodad",
    "addr add 10.0.1.1/24 dev v1",
];

/// Parts of lines. `(a|b)` is one of several, `[a]` may be omitted, `<name>` is another part.
const PARTS: [(&str, &str); 30] = [
    ("dev", "(v0|v0|v1|v2|v3|b0|lo|nope)"),
    (
        "number",
        "(0|1|2|5|10|16|64|99|100|255|0x10|0xff|010|017|256|1000|65535|65536|4294967295|4294967296|1k|x)",
    ),
    ("small", "(0|1|2|5|10|64|0x10|017|255|256|x)"),
    (
        "v4",
        "(10.0.0.(2|3|4|5|6)|10.0.0.(2|3)|10.0.1.(2|3)|192.0.2.1|10.1|10.0.0|0|255.255.255.255|10.0.0.256)",
    ),
    ("v6", "(fd00::(2|3|4|5)|fd00::5|fe80::1|ff02::1|fd00::g)"),
    (
        "net4",
        "(<v4>[/(24|32|31|30|16|8|33|255.255.255.0|255.0.255.0)]|10/8|10.1/16|192.0.2.0/24|198.51.100.0/24)",
    ),
    ("net6", "<v6>[/(64|128|127|129)]"),
    ("net", "(<net4>|<net4>|<net6>|default)"),
    ("tos", "(0|10|0x10|28|AF11|EF|CS1|default|e0|100|08|x)"),
    (
        "table",
        "(main|local|default|100|0x64|10|300|4294967295|0|nowhere)",
    ),
    (
        "proto",
        "(static|boot|kernel|4|0x10|bird|186|255|256|ra|nobody)",
    ),
    (
        "scope",
        "(global|link|host|site|nowhere|200|0xfd|254|256|far)",
    ),
    ("mac", "02:00:00:00:00:3(0|1|2|3)"),
    (
        "via",
        "via (10.0.0.2|10.0.0.3|10.0.1.2|fd00::5|inet6 fd00::5|<v4>|<v6>)",
    ),
    ("hop", "[<via>] [dev <dev>] [onlink]"),
    (
        "hops",
        "nexthop via (10.0.0.2|10.0.0.3|<v4>) [weight <small>] nexthop via (10.0.1.2|<v4>) [dev <dev>] [weight <small>]",
    ),
    (
        "metrics",
        "[mtu (1400|lock 1400|0x500|x)] [window <number>] [rtt (10ms|1s|1.5s|20msecs)] [rto_min (200|200ms|1s|0.2sec|10min)] [cwnd <number>] [initcwnd <number>] [hoplimit (1|64|0x10|x)] [quickack (0|1)] [features ecn] [congctl (cubic|lock cubic|nowhere)]",
    ),
    (
        "type",
        "(blackhole|unreachable|prohibit|throw|local|unicast)",
    ),
    (
        "addr",
        "addr (add|add|add|replace|change|del) (<addr4>|<addr4>|<addr6>) [scope <scope>] [metric <number>] [noprefixroute] dev <dev>",
    ),
    (
        "addr4",
        "[local] <net4> [peer <net4>] [(broadcast|brd) (+|-|<v4>)] [label (v0|v0:1)] [preferred_lft (0|1000|0xff) valid_lft (1000|forever)]",
    ),
    (
        "addr6",
        "<net6> [nodad] [preferred_lft 1000 valid_lft 2000]",
    ),
    ("rule4", "[from <net4>] [to <net4>]"),
    ("rule6", "[from <net6>] [to <net6>]"),
    ("named4", "(from <net4> [to <net4>]|to <net4>)"),
    ("named6", "(from <net6> [to <net6>]|to <net6>)"),
    (
        "rule",
        "[(pref|preference|priority|order) <number>] [(tos|dsfield) <tos>] [fwmark <number>[/<number>]] [(iif|oif|dev) <dev>] [uidrange (0-10|10-5|x)] [ipproto (tcp|udp|6|256|nothing)] [sport (80|1-2|5-1|0|65536)] [dport 1000-2000] [tun_id <number>] [(suppress_prefixlength|sup_pl) <small>] [(suppress_ifgroup|sup_group) (default|1|0x2|nobody)] [realms (1|1/2|0x10|cosmos|nobody)] [protocol <proto>] [not] [(goto <number>|nop|l3mdev|(table|lookup) <table>|blackhole|prohibit|unreachable)]",
    ),
    (
        "group",
        "group (1|1/2|1,2/3|1,10/2,255|1/2,300|1/|x) [type resilient buckets (2|0x8|x) [idle_timer <small>] [unbalanced_timer <small>]]",
    ),
    (
        "bridge",
        "bridge [forward_delay <number>] [hello_time <number>] [max_age <number>] [ageing_time <number>] [stp_state (0|1)] [priority <number>] [mcast_snooping (0|1)] [mcast_query_interval <number>] [group_fwd_mask <number>]",
    ),
    (
        "vxlan",
        "vxlan (id|vni) <number> [remote (<v4>|<v6>)] [local (10.0.0.1|fd00::1|<v4>)] [ttl (<small>|inherit|auto)] [(tos|dsfield) (inherit|<tos>)] [df (set|unset|inherit)] [ageing <number>] [maxaddress <number>] dstport (4789|0x12b5|65536) [(learning|nolearning|proxy|l2miss|noudpcsum|gbp)]",
    ),
    ("switch", "(on|off|x)"),
];

/// One of the texts that `text` describes.
fn expand(text: &str, random: &mut Random) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['(', '[', '<']) {
        expanded += &rest[..at];
        let (inner, after) = bracketed(&rest[at..]);
        let chosen = match rest.as_bytes()[at] {
            b'(' => random.pick(&alternatives(inner)),
            b'[' if random.one_in(4) => inner,
            b'[' => "",
            _ => {
                let part = PARTS.iter().find(|(name, _)| *name == inner);
                part.expect("a part").1
            }
        };
        expanded += &expand(chosen, random);
        rest = after;
    }
    expanded + rest
}

/// Splits `(inner)after`.
fn bracketed(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..at], &text[at + 1..]);
        }
    }
    panic!("{text} has no end");
}

/// Splits `a|(b|c)|d` at the bars outside brackets.
fn alternatives(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|letter| {
        match letter {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            _ => {}
        }
        letter == '|' && depth == 0
    })
    .collect()
}

/// What a test compares besides the exit status.
struct Kind {
    lines: &'static str,
    /// The program with the same command, and the commands that show its state.
    program: &'static str,
    state: &'static [&'static str],
}

/// Keys whose values depend on time or on chance.
const VARIABLE: [&str; 23] = [
    "operstate",
    "tcn_timer",
    "promiscuity",
    "allmulti",
    "bridge_id",
    "root_id",
    "hello_timer",
    "gc_timer",
    "ifindex",
    "index",
    "used",
    "refcnt",
    "confirmed",
    "updated",
    "probes",
    "tentative",
    "valid_life_time",
    "preferred_life_time",
    "expires",
    "cache",
    "link_index",
    "dadfailed",
    "unbalanced_time",
];

/// Whether the kernel adds the object by itself, when it gets to it.
fn is_of_kernel(object: &Value) -> bool {
    let keys = ["dst", "local", "address", "mac"];
    let mut texts = keys.iter().filter_map(|key| object[key].as_str());
    let starts = ["fe80:", "ff0", "33:33:", "01:00:5e:"];
    // A proxy entry of no device outlives its namespace, and a new one may find it.
    let is_left_over = object.get("proxy").is_some() && object.get("dev").is_none();
    is_left_over || texts.any(|text| starts.iter().any(|start| text.starts_with(start)))
}

/// Without what varies.
fn stable(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let is_kept = |key: &str| !VARIABLE.contains(&key);
            let kept = fields.into_iter().filter(|(key, _)| is_kept(key));
            Value::Object(kept.map(|(key, value)| (key, stable(value))).collect())
        }
        Value::Array(items) => {
            let kept = items
                .into_iter()
                .filter(|item| !is_of_kernel(item) && !is_late_flag(item));
            Value::Array(kept.map(stable).collect())
        }
        other => other,
    }
}

/// Whether the flag says what the other end of a link does, which takes a moment.
fn is_late_flag(value: &Value) -> bool {
    let late = ["NO-CARRIER", "LOWER_UP", "M-DOWN"];
    value.as_str().is_some_and(|flag| late.contains(&flag))
}

impl Kind {
    /// The objects as JSON. The order of some depends on chance.
    fn state(&self, host: &Host) -> BTreeSet<String> {
        let show = |line: &&str| {
            let mut command = host.command(self.program);
            let output = command.arg("-json").args(line.split(' ')).output();
            let text = output.expect("iproute2 runs").stdout;
            // Without objects it may print nothing.
            let all: Vec<Value> = serde_json::from_slice(&text).unwrap_or_default();
            all
        };
        let objects = self.state.iter().flat_map(show);
        let kept = objects.filter(|object| !is_of_kernel(object));
        kept.map(|object| stable(object).to_string()).collect()
    }

    /// Runs lines of both programs.
    fn compare(&self, seed: u64) {
        let [ours, others] = ["ours", "others"].map(Host::new);
        for line in START {
            ours.ip(line);
            others.ip(line);
        }
        let are_equal = || self.state(&ours) == self.state(&others);
        wait::until("both are set up", are_equal);
        let mut random = Random::new(seed);
        let lines = number("TAPLINE_RANDOM_LINES", FEW);
        let (mut accepted, mut compared) = (0, 0);
        for number in 0..lines {
            let line = expand(self.lines, &mut random);
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut command = others.command(self.program);
            let expected = command
                .args(line.split(' '))
                .output()
                .expect("iproute2 runs");
            let output = tapline(&ours, &line);
            let said = |output: &std::process::Output| {
                String::from_utf8_lossy(&output.stderr).into_owned()
            };
            let place = || {
                let said = [said(&output), said(&expected)];
                format!(
                    "line {number} of seed {seed}: {} {line}\n{said:?}\nequal before line {compared}",
                    self.program
                )
            };
            assert_eq!(
                output.status.success(),
                expected.status.success(),
                "{}",
                place()
            );
            // What a refused line changes all the same shows with the next line that is carried out.
            if !output.status.success() && number + 1 < lines {
                continue;
            }
            let [ours, others] = [&ours, &others].map(|host| self.state(host));
            let ours_only: Vec<_> = ours.difference(&others).collect();
            let others_only: Vec<_> = others.difference(&ours).collect();
            assert_eq!(ours_only, others_only, "{}", place());
            accepted += u32::from(output.status.success());
            compared = number + 1;
        }
        assert!(accepted > lines / 30, "only {accepted} lines are valid");
    }
}

/// The value of a variable of the environment, or `default`.
fn number<N: FromStr<Err: Debug>>(variable: &str, default: N) -> N {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

/// The seed of a run.
fn seed() -> u64 {
    number("TAPLINE_SEED", 1)
}

#[test]
fn addresses() {
    let kind = Kind {
        lines: "<addr>",
        program: "ip",
        state: &["addr show", "-4 route show table all"],
    };
    kind.compare(seed());
}

#[test]
fn routes() {
    let kind = Kind {
        lines: "route (add|add|add|append|prepend|replace|change|del) [<type>] <net> [(tos|dsfield) <tos>] \
                [(metric|preference|priority) <number>] [table <table>] [proto <proto>] [scope <scope>] [src <v4>] \
                [realm (1|1/2|0x10|cosmos|nobody)] [<metrics>] (<hop>|<hop>|<hop>|<hops>)",
        program: "ip",
        state: &["-d -4 route show table all", "-d -6 route show table all"],
    };
    kind.compare(seed());
}

#[test]
fn rules() {
    let kind = Kind {
        lines: "(rule (add|add) <rule4> <rule>|rule del <named4> <rule>|-6 rule (add|add) <rule6> <rule>|-6 rule del <named6> <rule>|rule del pref <number>)",
        program: "ip",
        state: &["-d -4 rule", "-d -6 rule"],
    };
    kind.compare(seed());
}

#[test]
fn neighbours() {
    let kind = Kind {
        lines: "neigh (add|add|replace|change|del) (proxy 10.7.0.(2|3|4)|(10.0.0.(2|3)|<v6>)|(10.0.0.(2|3|4)|10.1|<v6>) lladdr (<mac>|1:2:3:4:5:6|x) \
                [nud (permanent|stale|noarp|0x80|nobody)] [router] [extern_learn] [protocol <proto>]) dev <dev>",
        program: "ip",
        state: &["neigh", "neigh show proxy"],
    };
    kind.compare(seed());
}

#[test]
fn nexthops() {
    let kind = Kind {
        lines: "nexthop ((add|add|add|replace) id (1|2|3|4|0x5|010|x) \
                (via (10.0.0.2|fd00::5|<v4>) dev <dev>|dev <dev>|blackhole|<group>) [proto <proto>]|del id (1|2|0x3|x))",
        program: "ip",
        state: &["-d nexthop"],
    };
    kind.compare(seed());
}

#[test]
fn links() {
    let kind = Kind {
        lines: "link (set (v1|v3) [(up|down)] [mtu (1400|0x500|67|9000|x)] [(txqueuelen|qlen) <small>] \
                [address (<mac>|x)] [group (default|5|0x5|nobody)] [alias hello] \
                [(arp|multicast|allmulticast|promisc) <switch>] [addrgenmode (eui64|none|random|x)]\
                |add x0 address <mac> type (<bridge>|<vxlan>|ifb)|del x0)",
        program: "ip",
        state: &["-d link show v1", "-d link show v3", "-d link show x0"],
    };
    kind.compare(seed());
}

#[test]
fn forwarding_entries() {
    let kind = Kind {
        lines: "fdb (add|add|append|replace|del) (<mac>|x) dev (v2|b0|v0) [(self|master)] [(static|permanent|local|temp)] \
                [(sticky|router|extern_learn)]",
        program: "bridge",
        state: &["-d fdb"],
    };
    kind.compare(seed());
}
