//! What the kernel passes over when it makes a link is said again, and so is what it refuses then.

use crate::witness::{name, named};
use netlink::{AddrGenMode, Link, LinkKind, Veth};
use tapline_lab::Host;

use super::compare::{host, shown};

#[test]
fn every_setting_of_a_new_link_takes_effect() {
    let Some(host) = host() else { return };
    let mut netlink = host.netlink();
    let wanted = named("new0")
        .kind(LinkKind::Dummy)
        .mtu(1400)
        .group(5)
        .txqlen(77)
        .up(true)
        .alias("what it is for".to_owned())
        .alternative_names(vec![
            "a-name-longer-than-fifteen".to_owned(),
            "b".to_owned(),
        ])
        .address_mode(AddrGenMode::None);
    netlink.add(&wanted).expect("made");
    let told = netlink.link_named("b").expect("told");
    assert!(netlink::Object::matches(&told, &wanted), "{told:#?}");
    let shown = shown(&host, "new0");
    assert_eq!(shown["ifalias"], "what it is for");
    assert_eq!(shown["altnames"].as_array().map(Vec::len), Some(2));
    assert_eq!(shown["inet6_addr_gen_mode"], "none");
    assert_eq!(
        (&shown["group"], &shown["txqlen"]),
        (&"5".into(), &77.into())
    );
}

#[test]
fn alternative_names_come_and_go() {
    let Some(host) = host() else { return };
    let mut netlink = host.netlink();
    let lower = || named("lower0");
    let names =
        |names: &[&str]| lower().alternative_names(names.iter().map(|&n| n.to_owned()).collect());
    netlink.set(&names(&["one", "two"])).expect("added");
    // Those that are there are no error.
    netlink.set(&names(&["two", "three"])).expect("added");
    netlink
        .del_alternative_names(&names(&["one"]))
        .expect("removed");
    assert_eq!(
        shown(&host, "lower0")["altnames"],
        serde_json::json!(["two", "three"])
    );
    host.ip("link property del dev lower0 altname two");
    let told = netlink.link_named("three").expect("told");
    assert_eq!(told.alternative_names, Some(vec!["three".to_owned()]));
    netlink.link_named("one").expect_err("it is gone");
}

#[test]
fn both_ends_of_a_pair_are_up() {
    let Some(host) = host() else { return };
    let peer = named("far0").up(true).mtu(1300);
    let pair = named("near0").up(true).kind(Veth::to(peer));
    host.netlink().add(&pair).expect("made");
    for end in ["near0", "far0"] {
        assert_eq!(shown(&host, end)["operstate"], "UP");
    }
    assert_eq!(shown(&host, "far0")["mtu"], 1300);
}

#[test]
fn a_link_is_made_in_another_namespace() {
    let Some(here) = host() else { return };
    let there = Host::new("there");
    let link = named("new0")
        .kind(LinkKind::Dummy)
        .in_namespace(there.namespace().try_clone().expect("a descriptor"));
    here.netlink().add(&link).expect("made");
    there.netlink().link_named("new0").expect("it is there");
    here.netlink()
        .link_named("new0")
        .expect_err("it is not here");
}

#[test]
fn a_group_is_removed_at_once() {
    let Some(host) = host() else { return };
    let mut netlink = host.netlink();
    for number in 0..100 {
        let link = Link::named(name(&format!("many{number}")))
            .kind(LinkKind::Dummy)
            .group(9);
        netlink.add(&link).expect("made");
    }
    netlink.del(&Link::new().group(9)).expect("removed");
    let left: Vec<_> = netlink
        .links()
        .expect("links")
        .items
        .iter()
        .map(|link| link.ifname().to_string())
        .collect();
    assert_eq!(left, ["lo", "lower0"]);
}
