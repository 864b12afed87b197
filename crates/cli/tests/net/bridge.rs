//! Bridge multicast groups and forwarding entries are added and shown as by bridge(8). Compared with its JSON and its
//! text.

use crate::support::PROGRAM;
use crate::support::run::spawn;
use crate::support::stack::{
    assert_has_all, assert_refused, batch, done, json_of, objects, refused_nobody, theirs, trimmed,
};
use lab::Host;
use serde_json::Value;

/// A host with the ports `va` and `vc` of a bridge.
fn host() -> Host {
    let host = Host::new("host");
    for line in [
        "link add br0 up type bridge mcast_snooping 1 mcast_igmp_version 3 mcast_mld_version 2",
        "link add va master br0 up type veth peer name vb",
        "link add vc master br0 up type veth peer name vd",
        "link set vb up",
        "link set vd up",
    ] {
        done(&host, line);
    }
    host
}

/// What `bridge mdb show` has in its list.
#[track_caller]
fn shown(host: &Host, options: &str) -> Vec<Value> {
    let all = json_of(host, "bridge", &format!("{options} mdb show"));
    all[0]["mdb"].as_array().expect("a list").clone()
}

/// What is made by either is shown by both alike.
#[test]
fn groups_are_those_of_bridge() {
    let host = host();
    done(&host, "mdb add dev br0 port va grp 239.1.1.1 permanent");
    done(
        &host,
        "mdb add dev br0 port vc grp 239.1.1.2 src 192.0.2.9 permanent",
    );
    done(&host, "mdb add dev br0 port va grp ff0e::7 permanent");
    theirs(
        &host,
        "bridge",
        "mdb add dev br0 port vc grp 239.1.1.1 permanent",
    );
    theirs(
        &host,
        "bridge",
        "mdb add dev br0 port va grp 01:02:03:04:05:06 permanent",
    );
    theirs(
        &host,
        "bridge",
        "mdb add dev br0 port va grp 239.1.1.3 src 192.0.2.7 permanent",
    );
    // Nothing here has a time that runs out, so both say the same whenever they are asked.
    let without_timers = |mut list: Vec<Value>| {
        list.retain(|group| group["state"] == "permanent");
        list
    };
    for options in ["", "-d", "-d -s"] {
        let ours = objects(&done(&host, &format!("mdb show --json {options}")));
        let ours = without_timers(ours);
        assert_eq!(ours.len(), 6);
        assert_has_all(&ours, &without_timers(shown(&host, options)));
        let text = |text: String| {
            let mut lines = trimmed(&text);
            lines.retain(|line| line.contains("permanent"));
            lines
        };
        assert_eq!(
            text(done(&host, &format!("mdb show {options}"))),
            text(theirs(&host, "bridge", &format!("{options} mdb show")))
        );
    }
    let ours = objects(&done(&host, "mdb show port vc grp 239.1.1.2 --json"));
    assert_eq!((ours.len(), &ours[0]["src"]), (1, &"192.0.2.9".into()));
    for line in ["port va grp 239.1.1.1", "port vc grp 239.1.1.1"] {
        done(&host, &format!("mdb del dev br0 {line}"));
    }
    theirs(
        &host,
        "bridge",
        "mdb del dev br0 port vc grp 239.1.1.2 src 192.0.2.9",
    );
    assert_eq!(without_timers(shown(&host, "")).len(), 3);
}

/// Kernels since 6.2 have lists of senders; bridge(8) shows them with the time each has left.
#[test]
fn lists_of_senders_are_those_of_bridge() {
    const SENDERS: lab::skip::Feature = lab::skip::Feature {
        name: "lists of senders in mdb",
        probe: || lab::skip::kernel_at_least(6, 2),
    };
    if lab::skip::without(&SENDERS) {
        return;
    }
    let host = host();
    let line = "dev br0 port va grp 239.1.1.1 filter_mode exclude proto bgp";
    done(
        &host,
        // A time behind an address, as bridge(8) prints it, is ignored.
        &format!("mdb add {line} source_list 192.0.2.1,192.0.2.2/0.00"),
    );
    let of_list = |shown: Vec<Value>| {
        let mut shown = shown;
        shown.retain(|group| group["source_list"].is_array());
        assert_eq!(shown.len(), 1, "{shown:?}");
        shown.remove(0)
    };
    let mut both = [
        of_list(objects(&done(&host, "mdb show --json -d"))),
        of_list(shown(&host, "-d")),
    ];
    for shown in &mut both {
        let senders = shown["source_list"].as_array_mut().expect("a list");
        for sender in senders {
            // What is left of it has no fixed value, but one form.
            let timer = sender["timer"].as_str().expect("a time").to_owned();
            assert!(timer.parse::<f32>().is_ok(), "{timer:?}");
            sender.as_object_mut().expect("keys").remove("timer");
        }
    }
    let [ours, theirs] = both;
    assert_has_all(&[ours], &[theirs]);
    done(&host, &format!("mdb replace {line} source_list 192.0.2.3"));
    let list = of_list(shown(&host, "-d"));
    assert_eq!(list["source_list"][0]["address"], "192.0.2.3");
}

/// The same flush by bridge(8) and here leaves the same.
#[test]
fn entries_are_flushed_as_bridge_does() {
    const FLUSH: lab::skip::Feature = lab::skip::Feature {
        name: "flush of forwarding entries",
        probe: || lab::skip::kernel_at_least(6, 0),
    };
    if lab::skip::without(&FLUSH) {
        return;
    }
    // In order: what bridges learn meanwhile is left out, and what a port listens to stays.
    let entries = |host: &Host| {
        let mut lines = trimmed(&theirs(host, "bridge", "fdb show"));
        lines
            .retain(|line| line.starts_with("02:") || line.starts_with("01:00:5e:00:00:01 dev va"));
        lines.sort();
        lines
    };
    let [ours, others] = [(), ()].map(|()| {
        let host = host();
        for (port, octet) in [("va", 1), ("vc", 2), ("br0", 3)] {
            let line = format!("link set {port} address 02:ff:00:00:00:0{octet}");
            done(&host, &line);
        }
        done(&host, "link set va up");
        host
    });
    for words in [
        "dev br0",
        "dev br0 self brport va",
        "dev va master",
        "dev vc master static",
        "dev br0 vlan 7",
        "dev br0 permanent",
        "dev br0 nopermanent",
        "dev br0 nostatic",
        "dev br0 dynamic",
        "dev br0 nodynamic brport vc",
        "dev br0 added_by_user nosticky",
        "dev br0 extern_learn",
        "dev br0 sticky noextern_learn",
    ] {
        let states = [(&ours, true), (&others, false)].map(|(host, by_us)| {
            for line in [
                "02:00:00:00:00:01 dev va master static",
                "02:00:00:00:00:02 dev va master dynamic",
                "02:00:00:00:00:03 dev vc master static sticky",
                "02:00:00:00:00:04 dev vc master dynamic extern_learn",
                "02:00:00:00:00:05 dev vc master static",
                "02:00:00:00:00:06 dev vc master permanent",
            ] {
                theirs(host, "bridge", &format!("fdb replace {line}"));
            }
            let before = entries(host);
            let line = format!("fdb flush {words}");
            if by_us {
                done(host, &line);
            } else {
                theirs(host, "bridge", &line);
            }
            (before, entries(host))
        });
        assert_eq!(states[0], states[1], "{words}");
        let (before, after) = &states[0];
        // None of them is in a VLAN: not every kernel has those.
        let some_go = before.len() > after.len();
        assert_eq!(some_go, !words.contains("vlan"), "{words}: {after:?}");
        assert!(after.iter().any(|line| line.starts_with("01:00:5e")));
    }
    let host = ours;
    let listened = theirs(&host, "bridge", "fdb show dev va self");
    assert_refused(
        &host,
        &[
            ("fdb flush dev va", "forwarding entries of link va", 4),
            ("fdb flush", "no device is given", 2),
            ("fdb flush dev br0 vlan 5000", "VLAN 5000", 2),
            ("fdb flush dev br0 frob", "\"frob\"", 2),
        ],
    );
    assert_eq!(theirs(&host, "bridge", "fdb show dev va self"), listened);
    let (lines, status) = batch(&host, "", "fdb flush dev br0\n");
    assert_eq!((lines[0]["done"].as_u64(), status), (Some(1), 0));
    let (lines, status) = batch(&host, "--undo", "fdb flush dev br0\n");
    assert_eq!((lines[1]["failed"].as_u64(), status), (Some(1), 2));
}

#[test]
fn a_batch_adds_and_reverts_fdb_and_mdb_entries() {
    let host = host();
    let groups = || {
        let mut list = shown(&host, "");
        list.retain(|group| group["state"] == "permanent");
        list.len()
    };
    let entries = || {
        let shown = json_of(&host, "bridge", "fdb show br br0");
        let ours = |entry: &&Value| {
            entry["mac"]
                .as_str()
                .is_some_and(|mac| mac.starts_with("02:00:00:00:00:"))
        };
        let mut ours: Vec<_> = shown.iter().filter(ours).cloned().collect();
        ours.sort_by_key(Value::to_string);
        ours
    };
    let made = "fdb add 02:00:00:00:00:01 dev va master static\n\
        fdb add 02:00:00:00:00:02 dev va master static sticky\n\
        mdb add dev br0 port va grp 239.1.1.1 permanent\n\
        mdb add dev br0 port va grp 239.1.1.2 src 192.0.2.1 permanent\n";
    let (lines, status) = batch(&host, "", made);
    assert_eq!(
        (lines[0]["done"].as_u64(), status),
        (Some(4), 0),
        "{lines:?}"
    );
    let before = entries();
    assert_eq!((before.len(), groups()), (2, 2));
    let changed = "fdb del 02:00:00:00:00:01 dev va master\n\
        fdb replace 02:00:00:00:00:02 dev vc master dynamic\n\
        fdb add 02:00:00:00:00:03 dev vc master static\n\
        mdb del dev br0 port va grp 239.1.1.1\n\
        mdb del dev br0 port va grp 239.1.1.2 src 192.0.2.1\n\
        mdb add dev br0 port vc grp 239.1.1.9 permanent\n\
        mdb add dev br0 port vc grp 239.1.1.9 permanent\n";
    let (lines, status) = batch(&host, "--undo", changed);
    assert_eq!(
        (lines[0]["line"].as_u64(), status),
        (Some(7), 1),
        "{lines:?}"
    );
    assert_eq!(lines[1]["undone"], 6, "{lines:?}");
    assert_eq!((entries(), groups()), (before, 2));
    // The error names the object of the rejected line.
    let error = lines[0]["error"].as_str().expect("words");
    assert!(error.starts_with("cannot add group 239.1.1.9 "), "{error}");
}

#[test]
fn a_monitor_tells_of_groups() {
    let host = host();
    done(&host, "mdb add dev br0 port va grp 239.1.1.1 permanent");
    let mut command = host.command(PROGRAM);
    command.args(["monitor", "mdb", "--json"]);
    let mut running = spawn(command);
    let mut of_group = |event: &str| {
        let event =
            running.event(|told| told["event"] == event && told["mdb"]["grp"] == "239.1.1.1");
        assert_eq!(
            (&event["object"], &event["mdb"]["port"]),
            (&"mdb".into(), &"va".into())
        );
    };
    of_group("added");
    theirs(&host, "bridge", "mdb del dev br0 port va grp 239.1.1.1");
    of_group("removed");
    theirs(
        &host,
        "bridge",
        "mdb add dev br0 port va grp 239.1.1.1 permanent",
    );
    of_group("added");
    running.stop().exit(0);
}

/// Kernels without VLAN filtering have no VLANs, which is no error.
#[test]
fn vlans_are_listed_as_by_bridge() {
    let host = host();
    for line in ["vlan show", "vlan show dev va", "vlan"] {
        let [ours, theirs] = [done(&host, line), theirs(&host, "bridge", line)];
        assert_eq!(trimmed(&ours), trimmed(&theirs), "{line}");
    }
}

#[test]
fn the_entry_of_a_port_is_that_of_its_bridge() {
    let host = host();
    let line = "fdb add 02:00:00:00:00:09 dev va master static";
    theirs(&host, "bridge", line);
    let line = "fdb get 02:00:00:00:00:09 dev va";
    let [ours, theirs] = [done(&host, line), theirs(&host, "bridge", line)];
    assert_eq!(trimmed(&ours), trimmed(&theirs));
}

/// Kernels without VLAN filtering report no VLANs.
#[test]
fn a_monitor_of_all_objects_skips_those_the_kernel_lacks() {
    let host = host();
    let told = done(&host, "monitor --json -c 1");
    let first: Value = serde_json::from_str(told.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["event"], &first["object"]),
        (&"added".into(), &"link".into())
    );
}

#[test]
fn a_refusal_says_what_is_wrong() {
    let host = host();
    assert_refused(
        &host,
        &[
            ("mdb add dev br0 port va", "no group is given", 2),
            ("mdb add dev br0 grp 239.1.1.1", "no port is given", 2),
            ("mdb add dev br0 port va grp 239.1.1", "\"239.1.1\"", 2),
            (
                "mdb add dev br0 port va grp 239.1.1.1 vid 5000",
                "VLAN 5000 is not between 1 and 4094",
                2,
            ),
            (
                "mdb add dev br0 port va grp 239.1.1.1 src ::1",
                "source ::1 does not belong to the family of group",
                2,
            ),
            ("mdb add dev br0 port va grp 239.1.1.1 frob", "\"frob\"", 2),
            (
                "mdb set dev br0 port va grp 239.1.1.1",
                "add or replace it",
                2,
            ),
            ("mdb frob", "\"frob\" is not a known verb", 2),
            (
                "mdb add dev br0 port va grp 10.0.0.1",
                "address is not multicast",
                1,
            ),
            (
                "mdb del dev br0 port va grp 239.1.1.1",
                "cannot remove group 239.1.1.1",
                1,
            ),
        ],
    );
    let (text, code) = refused_nobody(&host, "mdb add dev br0 port va grp 239.1.1.1");
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("(needs CAP_NET_ADMIN)"), "{text}");
}
