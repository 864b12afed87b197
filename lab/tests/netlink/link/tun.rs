//! tun and tap devices: those that tapline and `ip tuntap` create are the same to both programs.

use crate::witness::{assert_error, assert_invalid, json, refused_with, run};
use netlink::{Cause, IfIndex, IfName, Link, LinkKind, Netlink, OnError, Syscall, Tun, TunMode};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::{Host, wait};

fn tun(name: &str, tun: Tun) -> Link {
    Link::named(IfName::new(name).expect("a name")).kind(tun)
}

/// What ip(8) shows of a link that is particular to its kind, and of `ip tuntap`, but for its name.
fn shown(host: &Host, name: &str) -> (Value, Value) {
    let link = json(host, &format!("ip link show dev {name}"));
    // It reads files of the namespace.
    let mut command = host.command("/usr/bin/unshare");
    let line = "mount -t sysfs sysfs /sys && ip -json tuntap show";
    let all = command.args(["--mount", "--", "sh", "-c", line]).output();
    let all: Vec<Value> = serde_json::from_slice(&all.expect("it runs").stdout).expect("JSON");
    let mut of_tuntap = all.iter();
    let found = of_tuntap.find(|shown| shown["ifname"] == name);
    let mut found = found.expect("ip tuntap shows it").clone();
    found["ifname"] = Value::Null;
    (link[0]["linkinfo"].clone(), found)
}

#[test]
fn they_are_made_as_ip_tuntap_makes_them() {
    let host = Host::new("host");
    let modes = [(TunMode::Tun, "tun"), (TunMode::Tap, "tap")];
    let options: [(Tun, &str); 5] = [
        (Tun::new(), ""),
        (Tun::new().user(5).group(6), "user 5 group 6"),
        (Tun::new().pi(true), "pi"),
        (Tun::new().vnet_hdr(true).pi(false), "vnet_hdr"),
        (Tun::new().multi_queue(true).user(0), "multi_queue user 0"),
    ];
    let mut netlink = host.netlink();
    for (mode, word) in modes {
        for (option, words) in &options {
            let wanted = tun("ours", option.clone().mode(mode));
            let made = netlink.create(&wanted).expect("made");
            assert!(netlink::Object::matches(&made, &wanted), "{made:#?}");
            run(
                &host,
                format!("ip tuntap add theirs mode {word} {words}").trim_end(),
            );
            let theirs = netlink.link_named("theirs").expect("theirs");
            // A process that another test starts may have the descriptor of our queue for a moment, between fork and exec.
            wait::until(&format!("{word} {words}: they are the same"), || {
                let ours = netlink.link_named("ours").expect("ours");
                ours.linkinfo == theirs.linkinfo
            });
            assert_eq!(shown(&host, "ours"), shown(&host, "theirs"));
            netlink.del(&made).expect("removed");
            // ip(8) attaches to it to remove it, for which it has to say as it is.
            let queues = if option.multi_queue == Some(true) {
                " multi_queue"
            } else {
                ""
            };
            run(&host, &format!("ip tuntap del theirs mode {word}{queues}"));
        }
    }
    let left = netlink.links().expect("links").items;
    assert_eq!(left.len(), 1, "the loopback: {left:?}");
}

/// What is not the driver's to say is set after.
#[test]
fn the_rest_of_the_link_is_set_with_it() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let bridge = Link::named(IfName::new("br0").expect("a name")).kind(LinkKind::named("bridge"));
    let bridge = netlink.create(&bridge).expect("a bridge");
    let wanted = tun("tap0", Tun::new().mode(TunMode::Tap))
        .up(true)
        .mtu(9000)
        .master(bridge.ifindex())
        .address("02:00:00:00:00:07".parse().expect("an address"))
        .alias("of a guest".to_owned())
        .alternative_names(vec!["a-name-longer-than-fifteen".to_owned()]);
    let made = netlink.create(&wanted).expect("made");
    assert_eq!((made.mtu, made.up), (Some(9000), Some(true)));
    let link = &json(&host, "ip link show dev tap0")[0];
    assert_eq!(link["mtu"], 9000);
    assert_eq!(link["master"], "br0");
    assert_eq!(link["address"], "02:00:00:00:00:07");
    assert_eq!(link["ifalias"], "of a guest");
    assert_eq!(link["altnames"][0], "a-name-longer-than-fifteen");
    // A batch makes it among others, and takes it back.
    let mut batch = netlink.batch(OnError::Undo);
    batch.add(&tun("tap1", Tun::new().mode(TunMode::Tap)));
    batch.add(&bridge.clone().name(IfName::new("tap1").expect("a name")));
    let outcome = batch.finish();
    assert_eq!((outcome.failed.len(), outcome.undone), (1, true));
    netlink.link_named("tap1").expect_err("it was taken back");
}

#[test]
fn a_rejected_tun_device_is_not_created() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let taken = tun("lo", Tun::new().mode(TunMode::Tun));
    let error = refused_with(netlink.add(&taken), Errno::BUSY);
    let Cause::System { call, .. } = error.cause else {
        panic!("{error:?}")
    };
    assert_eq!(call, Syscall::Ioctl);
    // A tun has no hardware address.
    let addressed = tun("tun0", Tun::new().mode(TunMode::Tun));
    let addressed = addressed.address("02:00:00:00:00:07".parse().expect("an address"));
    assert_error(netlink.add(&addressed), "cannot add link tun0");
    netlink.link_named("tun0").expect_err("there is none");
    for unfit in [
        tun("tun0", Tun::new()),
        tun("tun0", Tun::new().mode(TunMode::Tun).persist(false)),
        tun("tun0", Tun::new().mode(TunMode::Tun)).index(IfIndex(77)),
    ] {
        assert_invalid(netlink.add(&unfit));
    }
}

/// The namespace is the handle's, not that of the thread that has it.
#[test]
fn it_is_made_where_the_handle_belongs() {
    let [here, there] = ["here", "there"].map(Host::new);
    let mut netlink = there.netlink();
    let made = here.run(|| netlink.create(&tun("tap%d", Tun::new().mode(TunMode::Tap))));
    assert_eq!(made.expect("made").ifname().as_bytes(), b"tap0");
    let names = |netlink: &mut Netlink| netlink.links().expect("links").items.len();
    assert_eq!((names(&mut here.netlink()), names(&mut netlink)), (1, 2));
    let moved = tun("tap1", Tun::new().mode(TunMode::Tap))
        .in_namespace(here.namespace().try_clone().expect("a descriptor"));
    netlink.add(&moved).expect("made and moved");
    here.netlink().link_named("tap1").expect("it is here");
    netlink.link_named("tap1").expect_err("it is there no more");
}
