//! Each item of a batch has its own answer. Compared with what iproute2 shows to be there.

mod ip_json;

use ip_json::ip_json;
use netlink::{IfName, ItemResult, Link, LinkKind, OnError, Outcome};
use tapline_lab::Host;

/// More than go to the kernel at once.
const LINKS: usize = 300;

fn ifb(number: usize) -> Link {
    let name = IfName::new(format!("f{number}")).expect("a name");
    Link::named(name).kind(LinkKind::Ifb)
}

/// What the kernel does not take: the address of a group.
fn refused(number: usize) -> Link {
    ifb(number).address("01:00:00:00:00:01".parse().expect("an address"))
}

/// The numbers of the links that iproute2 shows.
fn shown(host: &Host) -> Vec<usize> {
    let shown = ip_json(host, &["link", "show", "type", "ifb"]);
    let names = shown.as_array().expect("links").iter();
    let numbers = names.filter_map(|link| link["ifname"].as_str()?.strip_prefix('f')?.parse().ok());
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

fn add_with_failures(host: &Host, on_error: OnError) -> Outcome {
    let mut netlink = host.netlink();
    let mut batch = netlink.batch(on_error);
    for number in 0..LINKS {
        match number {
            7 | 280 => batch.add(&refused(number)),
            // Without a name or an index nobody knows which.
            9 => batch.set(&Link::new().mtu(1400)),
            // An alternative name needs a message of its own.
            20 => batch.add(&ifb(20).alternative_names(vec!["another-name-of-20".into()])),
            _ => batch.add(&ifb(number)),
        };
    }
    batch.finish()
}

fn failed(outcome: &Outcome) -> Vec<usize> {
    outcome.failed.iter().map(|(item, _)| *item).collect()
}

#[test]
fn the_others_are_done_when_some_fail() {
    let host = Host::new("host");
    let outcome = add_with_failures(&host, OnError::Continue);
    assert_eq!(failed(&outcome), [7, 9, 280]);
    assert_eq!(outcome.item_count, LINKS);
    let error = outcome.failed[0].1.to_string();
    assert_eq!(error, "cannot add link f7");
    let done = (0..LINKS).filter(|item| matches!(outcome.result(*item), Some(ItemResult::Done)));
    assert_eq!(shown(&host), done.collect::<Vec<_>>());
    assert!(host.netlink().link_named("another-name-of-20").is_ok());
    assert!(outcome.result(LINKS).is_none());
}

#[test]
fn nothing_is_done_after_a_failure_if_it_is_to_stop() {
    let host = Host::new("host");
    let outcome = add_with_failures(&host, OnError::Stop);
    assert_eq!((failed(&outcome), outcome.not_run_from), (vec![7], Some(8)));
    assert_eq!(shown(&host), (0..7).collect::<Vec<_>>());
    assert!(matches!(outcome.result(8), Some(ItemResult::NotRun)));
}

#[test]
fn everything_is_taken_back_after_a_failure_if_it_is_to_be() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    for number in [1000, 1001] {
        netlink.add(&ifb(number).mtu(1300)).expect("there before");
    }
    let named = |number| IfName::new(format!("f{number}")).expect("a name");
    let before = ip_json(&host, &["link", "show", "type", "ifb"]);

    let mut batch = netlink.batch(OnError::Undo);
    batch
        .add(&ifb(1))
        .set(&Link::named(named(1000)).mtu(1200).up(true))
        .set(&Link::named(named(1)).mtu(1100))
        .add(&ifb(2))
        .add(&refused(3))
        .add(&ifb(4));
    let outcome = batch.finish();
    assert_eq!(failed(&outcome), [4]);
    assert!(outcome.undone && outcome.not_undone.is_empty());
    assert!(matches!(outcome.result(1), Some(ItemResult::Undone)));
    let after = ip_json(&host, &["link", "show", "type", "ifb"]);
    let facts = |shown: &serde_json::Value| {
        let links = shown.as_array().expect("links").iter();
        let facts = links.map(|link| {
            (
                link["ifname"].clone(),
                link["mtu"].clone(),
                link["flags"].clone(),
            )
        });
        facts.collect::<Vec<_>>()
    };
    assert_eq!(facts(&after), facts(&before));
}
