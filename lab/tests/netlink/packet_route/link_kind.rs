//! What is particular to kinds of links.

use super::compare::{flags, take};
use super::fix::{put, spread};
use super::rows::Rows;

/// The last part of a path of theirs, and ours for the same, whatever the kind is.
const FIELDS: &[(&str, &str)] = &[
    ("bccutoff", "bclim"),
    ("bcqueuelenused", "usedbcqueuelen"),
    ("collectmetadata", "external"),
    ("destinationport", "encapdport"),
    ("encapsport", "encapsport"),
    ("encaptype", "encap"),
    ("flags.ipvlanflags", "flags"),
    ("flowlabel", "flowinfo"),
    ("fwmask", "fwmark"),
    ("macaddrdata.macaddr", "macaddrdata"),
    ("pathmtudiscovery", "pmtudisc"),
    ("protocol", "proto"),
    ("sourceport", "encapsport"),
];

/// Flags of theirs that are fields of ours, by the last part of their path and the parts behind a kind.
const FLAGS: &[(&str, &[(&str, &str)])] = &[
    (
        "flags.macvlanflags",
        &[("nopromisc", "nopromisc"), ("nodst", "nodst")],
    ),
    (
        "multiboolopt.value.bridgebooleanoptionflags",
        &[
            ("nolinklocallearn", "nolinklocallearn"),
            ("vlanmulticastsnooping", "mcastvlansnooping"),
            ("mstenable", "mstenabled"),
        ],
    ),
    (
        "iflags.greioflags",
        &[("checksum", "icsum"), ("key", "ikeyed"), ("seq", "iseq")],
    ),
    (
        "oflags.greioflags",
        &[("checksum", "ocsum"), ("key", "okeyed"), ("seq", "oseq")],
    ),
    ("encapflags.greencapflags", ENCAP),
    ("encapflags.tunnelencapflags", ENCAP),
    (
        "ipv6flags.ip6tunnelflags",
        &[
            ("ignencaplimit", "ignoreencaplimit"),
            ("useorigtclass", "useorigtclass"),
            ("useorigflowlabel", "useorigflowlabel"),
            ("mip6dev", "mip6"),
            ("rcvdscpcopy", "rcvdscpcopy"),
            ("useorigfwmark", "useorigfwmark"),
            ("allowlocalremote", "allowlocalremote"),
        ],
    ),
];

const ENCAP: &[(&str, &str)] = &[
    ("csum", "csum"),
    ("csum6", "csum6"),
    ("remcsum", "remcsum"),
    ("checksum", "csum"),
    ("checksum6", "csum6"),
    ("remotechecksum", "remcsum"),
];

pub fn fix(ours: &mut Rows, theirs: &mut Rows) {
    fields(theirs);
    spread_all(ours, theirs);
    tunnel(ours, theirs);
    for kind in ["bridge", "bridgeport"] {
        for id in ["bridgeid", "rootid"] {
            bridge_id(theirs, &format!("linkinfo.{kind}.{id}"));
        }
    }
    let range = take(theirs, "linkinfo.vxlan.portrange");
    if let Some([low, high]) = range.as_deref() {
        put(theirs, "linkinfo.vxlan.portrange.low", low);
        put(theirs, "linkinfo.vxlan.portrange.high", high);
    }
    vlan_flags(ours, theirs);
    for map in ["linkinfo.vlan.ingressqos", "linkinfo.vlan.egressqos"] {
        let pairs = take(theirs, &format!("{map}.mapping")).unwrap_or_default();
        for (place, end) in ["from", "to"].into_iter().enumerate() {
            let ends: Vec<String> = pairs.iter().skip(place).step_by(2).cloned().collect();
            if !ends.is_empty() {
                theirs.insert(format!("{map}.{end}"), ends);
            }
        }
    }
}

/// Keys of what is particular to a kind, with the kind and the field.
fn fields_of_kinds(rows: &Rows) -> Vec<(String, String, String)> {
    let parted = |key: &String| {
        let (kind, field) = key.strip_prefix("linkinfo.")?.split_once('.')?;
        Some((key.clone(), kind.to_owned(), field.to_owned()))
    };
    rows.keys().filter_map(parted).collect()
}

fn spread_all(ours: &mut Rows, theirs: &mut Rows) {
    for (key, kind, field) in fields_of_kinds(theirs) {
        let Some((_, names)) = FLAGS.iter().find(|(known, _)| *known == field) else {
            continue;
        };
        let names = names
            .iter()
            .map(|(flag, name)| (*flag, format!("linkinfo.{kind}.{name}")));
        let names: Vec<(&str, String)> = names.collect();
        let names: Vec<(&str, &str)> = names
            .iter()
            .map(|(flag, name)| (*flag, name.as_str()))
            .collect();
        spread(ours, theirs, &key, &names);
    }
}

/// Keys are written as IPv4 addresses, and 0 is no link and no key.
fn tunnel(ours: &mut Rows, theirs: &mut Rows) {
    for kind in [
        "gre",
        "gretap",
        "ip6gre",
        "ip6gretap",
        "ip6tnl",
        "ipip",
        "sit",
    ] {
        for field in ["link", "ikey", "okey"] {
            let key = format!("linkinfo.{kind}.{field}");
            let Some(number) = theirs.get(&key).map(|values| values[0].clone()) else {
                continue;
            };
            if number == "0" && !ours.contains_key(&key) {
                theirs.remove(&key);
            } else if field != "link" {
                let number: u32 = number.parse().expect("a number");
                put(theirs, &key, &std::net::Ipv4Addr::from_bits(number));
            }
        }
        // Without that attribute among theirs all of these are off.
        if kind.starts_with("ip6gre") {
            for field in [
                "ignoreencaplimit",
                "useorigtclass",
                "useorigflowlabel",
                "mip6",
                "rcvdscpcopy",
                "useorigfwmark",
                "allowlocalremote",
            ] {
                let key = format!("linkinfo.{kind}.{field}");
                if ours.get(&key).is_some_and(|value| value == &["0"]) {
                    ours.remove(&key);
                }
            }
        }
    }
    if let Some(flags) = take(theirs, "linkinfo.sit.ipv6sitflags") {
        put(theirs, "linkinfo.sit.isatap", &u8::from(flags == ["1"]));
    }
}

fn fields(theirs: &mut Rows) {
    for (key, kind, field) in fields_of_kinds(theirs) {
        // A VLAN has a protocol as well.
        let found = FIELDS
            .iter()
            .find(|(known, _)| *known == field && kind != "vlan");
        if let Some((_, ours)) = found
            && let Some(values) = theirs.remove(&key)
        {
            theirs.insert(format!("linkinfo.{kind}.{ours}"), values);
        }
    }
}

/// A priority and a hardware address, as ip(8) writes them.
fn bridge_id(theirs: &mut Rows, key: &str) {
    let [priority, address] =
        ["priority", "address"].map(|part| take(theirs, &format!("{key}.{part}")));
    if let (Some(priority), Some(address)) = (priority, address) {
        let number = |text: &String| text.parse::<u16>().expect("a number");
        let address: Vec<String> = address
            .iter()
            .map(|byte| format!("{:x}", number(byte)))
            .collect();
        put(
            theirs,
            key,
            &format!("{:04x}.{}", number(&priority[0]), address.join(":")),
        );
    }
}

/// Of a VLAN's flags there are values and which of them are meant.
fn vlan_flags(ours: &mut Rows, theirs: &mut Rows) {
    let key = "linkinfo.vlan.flags.vlanflags";
    let Some([set, meant]) = theirs
        .get(key)
        .and_then(|both| <&[String; 2]>::try_from(both.as_slice()).ok())
        .cloned()
    else {
        return;
    };
    theirs.insert(key.to_owned(), vec![set]);
    let set = flags(theirs, key).unwrap_or_default();
    theirs.insert(key.to_owned(), vec![meant]);
    let meant = flags(theirs, key).unwrap_or_default();
    for flag in [
        "reorderhdr",
        "gvrp",
        "loosebinding",
        "mvrp",
        "bridgebinding",
    ] {
        let field = format!("linkinfo.vlan.{flag}");
        let has = |list: &[String]| list.iter().any(|word| word == flag);
        if has(&meant) || meant.iter().any(|word| word == "0xffffffff") || ours.contains_key(&field)
        {
            put(theirs, &field, &u8::from(has(&set)));
        }
    }
}
