//! A bridge that tapline creates is shown correctly by iproute2.

use crate::witness::ip_json;
use netlink::{Bridge, IfName, Link};
use tapline_lab::Host;

fn name(text: &str) -> IfName {
    IfName::new(text).expect("a name")
}

/// All of a bridge in one message, compared with what `ip -details -json` shows of it.
#[test]
fn a_bridge_is_made_with_all_its_options_at_once() {
    let host = Host::new("host");
    let bridge = Bridge::new()
        .ageing_time(12_300)
        .forward_delay(500)
        .mcast_snooping(false);
    let wanted = Link::named(name("br0"))
        .up(true)
        .mtu(1400)
        .address("02:00:00:00:00:07".parse().expect("an address"))
        .alias("the bridge".to_owned())
        .alternative_names(vec!["a-name-longer-than-fifteen".to_owned()])
        .kind(bridge);
    let made = host.netlink().create(&wanted).expect("a bridge");
    let told = host
        .netlink()
        .get(&Link::called("a-name-longer-than-fifteen"));
    let told = told.expect("found by its other name");
    assert_eq!(told.index, made.index);
    let shown = &ip_json(&host, &["link", "show", "dev", "br0"])[0];
    let data = &shown["linkinfo"]["info_data"];
    assert_eq!(data["ageing_time"], 12_300);
    assert_eq!(data["forward_delay"], 500);
    assert_eq!(data["mcast_snooping"], 0);
    assert_eq!(shown["mtu"], 1400);
    assert_eq!(shown["address"], "02:00:00:00:00:07");
    assert_eq!(shown["ifalias"], "the bridge");
    assert_eq!(shown["altnames"][0], "a-name-longer-than-fifteen");
    assert!(netlink::Object::matches(&told, &wanted), "{told:#?}");
    let listed = host.netlink().list(&Link::new().kind(Bridge::new()));
    assert_eq!(listed.expect("bridges").items.len(), 1);
}
