use crate::UML;
use crate::witness::{Names, ip_json, named, run};
use netlink::schema::Arguments;
use netlink::{Link, LinkKind, Netlink, Object};
use serde_json::{Map, Value, json};
use tapline_lab::Host;

/// What `ip -details -json link show` says of a link.
#[track_caller]
pub fn shown(host: &Host, link: &str) -> Value {
    ip_json(host, &["link", "show", "dev", link])[0].clone()
}

/// A host with a link that others can be made on. `None` where the test has been run under user-mode-linux, as it has on
/// any machine but that.
#[track_caller]
pub fn host() -> Option<Host> {
    if UML.has_run() {
        return None;
    }
    let host = Host::new("host");
    host.ip("link add lower0 type dummy");
    host.ip("link set lower0 up");
    Some(host)
}

/// The kind that the words say.
#[track_caller]
pub fn in_words(host: &Host, kind: &str, line: &str) -> LinkKind {
    let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    let mut names = Names(host.netlink());
    let mut words = Arguments::new(&words, &mut names);
    let mut said = LinkKind::named(kind);
    while let Some(word) = words.next() {
        let known = said.parse_keyword(word, &mut words);
        let known = known.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(known, "{word} means something to ip");
    }
    said
}

/// Makes a link that is `wanted`, and one by `ip link add … type KIND LINE`, and compares all that can be.
#[track_caller]
pub fn compare(host: &Host, lower: Option<&str>, wanted: impl Into<LinkKind>, line: &str) {
    let wanted = wanted.into();
    let kind = wanted.name().to_owned();
    assert_eq!(in_words(host, &kind, line), wanted, "{kind} {line}");

    let mut netlink = host.netlink();
    let mut link = named("new0").kind(wanted);
    link.lower = lower.map(|lower| netlink.link_named(lower).expect("the lower").ifindex());
    let ours = make_and_read(host, |netlink| netlink.add(&link).expect("it is made"));
    assert!(Object::matches(&ours.0, &link), "{:#?}", ours.0);

    let below = lower
        .map(|lower| format!("link {lower}"))
        .unwrap_or_default();
    let line = format!("link add name new0 {below} type {kind} {line}");
    let theirs = make_and_read(host, |_| run(host, &format!("ip {line}")));
    assert_eq!(ours.1, theirs.1, "ip shows the same: {line}");
    assert_eq!(still(&ours.0), still(&theirs.0), "we read the same: {line}");

    assert_says_what_ip_shows(&theirs.0, &theirs.1);
    assert_words_say_it(host, &theirs.0);
    let again = serde_json::to_value(&theirs.0).and_then(serde_json::from_value);
    assert_eq!(theirs.0, again.expect("JSON that is read"));
}

/// Makes a link by `make`, reads it and lets ip read it, and removes it.
fn make_and_read(host: &Host, make: impl FnOnce(&mut Netlink)) -> (Link, Value) {
    let mut netlink = host.netlink();
    make(&mut netlink);
    let link = netlink.link_named("new0").expect("it is there");
    let shown = shown(host, "new0");
    netlink.del(&named("new0")).expect("removed");
    netlink.link_named("new0").expect_err("it is gone");
    (link, without_timers(shown["linkinfo"].clone()))
}

/// The reported settings of a kind, without timers that run by themselves.
fn still(link: &Link) -> Value {
    let told = serde_json::to_value(&link.linkinfo).expect("JSON");
    without_timers(told)
}

fn without_timers(mut info: Value) -> Value {
    if let Some(data) = info["info_data"].as_object_mut() {
        data.retain(|key, _| !key.ends_with("_timer"));
        // A bridge's address is chance.
        data.remove("bridge_id");
        data.remove("root_id");
        data.remove("ad_actor_system");
    }
    info
}

/// Keys that ip has in a form of its own.
const OWN_FORM: [&str; 21] = [
    // A name for an index.
    "link",
    "primary",
    "active_slave",
    // A remote address that is a group.
    "group",
    "group6",
    // 1 is `inherit`.
    "tos",
    // Once as a number and once as a text.
    "group_fwd_mask_str",
    // An object of the fields that begin with it.
    "encap",
    // Switches: a list, or keys of their own.
    "flags",
    "bridge",
    "private",
    "vepa",
    "ip6_tnl_f_ign_encap_limit",
    "ip6_tnl_f_use_orig_tclass",
    "ip6_tnl_f_use_orig_flowlabel",
    "ip6_tnl_f_rcv_dscp_copy",
    "ip6_tnl_f_allow_local_remote",
    "ip6_tnl_f_mip6",
    "ip6_tnl_f_use_orig_fwmark",
    // Parts of `flowinfo`.
    "tclass",
    "flowlabel",
];

/// Each key of ip's JSON is in ours with its value, but for those of a form of its own.
fn assert_says_what_ip_shows(link: &Link, shown: &Value) {
    let ours = serde_json::to_value(&link.linkinfo).expect("JSON");
    assert_eq!(ours["info_kind"], shown["info_kind"]);
    let nothing = Map::new();
    let theirs = shown["info_data"].as_object().unwrap_or(&nothing);
    for (key, value) in theirs {
        if OWN_FORM.contains(&key.as_str()) {
            continue;
        }
        let ours = &ours["info_data"][key];
        let same = ours == value
            || plain(ours) == plain(value)
            || (ours.is_null() && plain(value) == json!(0))
            // No name for a number that is 0.
            || (value.is_null() && ours == "none");
        assert!(same, "{key}: {value}, we say {ours}");
    }
}

/// Switches are words, numbers or truth values there; no address is `any`; a mode without `inherit` is 0.
fn plain(value: &Value) -> Value {
    match value {
        Value::Bool(on) => json!(i32::from(*on)),
        Value::String(text) => match text.as_str() {
            "on" => json!(1),
            "off" | "inherit" => json!(0),
            "0.0.0.0" | "::" => json!("any"),
            text => {
                let number = match text.strip_prefix("0x") {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => text.parse(),
                };
                number.map_or_else(|_| value.clone(), |number| json!(number))
            }
        },
        _ => value.clone(),
    }
}

/// The words that we write of a link, read again, say the same of it.
fn assert_words_say_it(host: &Host, link: &Link) {
    let kind = link.link_kind().expect("a kind");
    let mut line = String::new();
    let mut names = Names(host.netlink());
    kind.format_fields(&mut names, &mut |word, value| {
        line.extend([" ", word, " ", &value]);
    });
    let said = in_words(host, kind.name(), &line);
    let said = Link::new().kind(said);
    assert!(
        Object::matches(link, &said),
        "{line}: {said:?} is not {link:?}"
    );
}
