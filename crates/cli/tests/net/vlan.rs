//! VLANs of bridge ports are added and shown as by bridge(8). Compared with its JSON and its text. Requires a kernel
//! with `CONFIG_BRIDGE_VLAN_FILTERING`.

use crate::UML;
use crate::support::PROGRAM;
use crate::support::run::spawn;
use crate::support::stack::{
    assert_refused, batch, done, json_of, objects, refused_nobody, theirs, trimmed,
};
use lab::Host;
use serde_json::Value;

/// Whether the test has been run under user-mode-linux, as it has on any machine but that.
#[track_caller]
fn has_run() -> bool {
    UML.has_run()
}

/// A host with the ports `va` and `vc` of a bridge that filters, and no VLAN.
fn host() -> Host {
    let host = Host::new("host");
    for line in [
        "link add br0 up type bridge vlan_filtering 1 vlan_default_pvid 0",
        "link add va master br0 up type veth peer name vb",
        "link add vc master br0 up type veth peer name vd",
    ] {
        done(&host, line);
    }
    host
}

/// A VLAN without flags has a list of none, or no key, as it happens.
fn without_empty_flags(ports: Vec<Value>) -> Vec<Value> {
    let mut ports = ports;
    for port in &mut ports {
        for vlan in port["vlans"].as_array_mut().expect("a list") {
            let vlan = vlan.as_object_mut().expect("an object");
            vlan.retain(|key, value| key != "flags" || *value != Value::Array(Vec::new()));
        }
    }
    ports
}

/// What is shown with `options`, which are those of bridge(8), is the same, as text and as JSON.
#[track_caller]
fn assert_same(host: &Host, options: &str, line: &str) {
    let own = own_options(options);
    let ours = objects(&done(host, &format!("vlan show --json {own} {line}")));
    let shown = json_of(host, "bridge", &format!("{options} vlan show {line}"));
    let (ours, shown) = (without_empty_flags(ours), without_empty_flags(shown));
    assert_eq!(ours, shown, "{options} {line}");
    assert_same_text(host, options, line);
}

#[track_caller]
fn assert_same_text(host: &Host, options: &str, line: &str) {
    let ours = done(host, &format!("vlan show {} {line}", own_options(options)));
    let shown = theirs(host, "bridge", &format!("{options} vlan show {line}"));
    assert_eq!(trimmed(&ours), trimmed(&shown), "{options} {line}");
}

fn own_options(options: &str) -> String {
    options.replace("-compressvlans", "--compressvlans")
}

#[test]
fn vlans_are_those_of_bridge() {
    if has_run() {
        return;
    }
    let host = host();
    done(&host, "vlan add dev va vid 10-20 untagged");
    done(&host, "vlan add dev va vid 7 pvid untagged");
    done(&host, "vlan add vid 300 dev va master");
    done(&host, "vlan add dev br0 vid 10 self");
    theirs(&host, "bridge", "vlan add dev vc vid 2-4094");
    theirs(&host, "bridge", "vlan add dev vc vid 5 pvid");
    theirs(
        &host,
        "bridge",
        "vlan add dev br0 vid 30 pvid untagged self",
    );
    for options in ["", "-compressvlans"] {
        assert_same(&host, options, "");
        assert_same(&host, options, "dev va");
    }
    // With these bridge(8) asks in a way that kernels forget VLANs behind that of packets without a tag.
    for options in ["-s", "-d", "-d -s"] {
        assert_same(&host, options, "dev va");
    }
    let vc = &objects(&done(&host, "vlan show --json -d dev vc"))[0];
    let ends: Vec<_> = vc["vlans"].as_array().expect("a list").iter().collect();
    let ends = ends.iter().map(|vlan| (&vlan["vlan"], &vlan["vlanEnd"]));
    let told: Vec<(Value, Value)> = ends.map(|(one, end)| (one.clone(), end.clone())).collect();
    let wanted = [
        (2.into(), 4.into()),
        (5.into(), Value::Null),
        (6.into(), 4094.into()),
    ];
    assert_eq!(told, wanted);
    assert_same(&host, "", "vid 10");
    assert_same(&host, "", "dev vc vid 77");

    done(&host, "vlan set dev va vid 12-13 state blocking");
    theirs(&host, "bridge", "vlan set dev va vid 14 state learning");
    assert_same(&host, "-d", "dev va");
    let va = &objects(&done(&host, "vlan show --json -d dev va"))[0];
    let states: Vec<_> = va["vlans"].as_array().expect("a list").iter().collect();
    let states = states
        .iter()
        .map(|vlan| vlan["state"].as_str().expect("a state"));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [
            "forwarding",
            "forwarding",
            "blocking",
            "learning",
            "forwarding",
            "forwarding"
        ]
    );

    done(&host, "vlan del dev va vid 10-20");
    done(&host, "vlan del dev vc vid 2-4000");
    theirs(&host, "bridge", "vlan del dev br0 vid 30 self");
    assert_same(&host, "", "");
    done(&host, "vlan del dev br0 vid 10 self");
    let ports = objects(&done(&host, "vlan --json"));
    let names: Vec<_> = ports.iter().map(|port| &port["ifname"]).collect();
    assert_eq!(names, ["va", "vc"]);
}

/// Adding changes what is there, so that taking it back is not to remove it.
#[test]
fn a_batch_makes_and_takes_back_vlans() {
    if has_run() {
        return;
    }
    let host = host();
    let made = "vlan add dev va vid 2-100\nvlan add dev va vid 7 pvid untagged\n\
        vlan add dev br0 vid 5 self\n";
    let (lines, status) = batch(&host, "", made);
    assert_eq!(
        (lines[0]["done"].as_u64(), status),
        (Some(3), 0),
        "{lines:?}"
    );
    done(&host, "vlan set dev va vid 30-31 state learning");
    let shown = || {
        let theirs = theirs(&host, "bridge", "vlan show");
        (theirs, done(&host, "vlan show --json -d"))
    };
    let before = shown();
    let changed = "vlan add dev va vid 90-110 untagged\nvlan del dev va vid 8-50\n\
        vlan add dev va vid 80 pvid\nvlan set dev va vid 60-61 state blocking\nvlan add dev vc vid 3\n\
        vlan del dev br0 vid 5 self\nvlan set dev va vid 2000 state blocking\n";
    let (lines, status) = batch(&host, "--undo", changed);
    assert_eq!(
        (lines[0]["line"].as_u64(), status),
        (Some(7), 1),
        "{lines:?}"
    );
    assert_eq!(lines[1]["undone"], 6, "{lines:?}");
    assert_eq!(shown(), before);
    let (lines, status) = batch(&host, "", "vlan add dev vb vid 3\n");
    let error = lines[0]["error"].as_str().expect("words");
    assert!(error.starts_with("cannot add VLAN 3 of link "), "{error}");
    assert_eq!(status, 1);
}

#[test]
fn a_monitor_tells_of_vlans() {
    if has_run() {
        return;
    }
    let host = host();
    done(&host, "vlan add dev va vid 7 pvid");
    let mut command = host.command(PROGRAM);
    command.args(["monitor", "vlan", "--json"]);
    let mut running = spawn(command);
    let mut of = |event: &str, vlan: u16| {
        let event = running
            .event(|told| told["event"] == event && told["vlan"]["vlans"][0]["vlan"] == vlan);
        assert_eq!(
            (&event["object"], &event["vlan"]["ifname"]),
            (&"vlan".into(), &"va".into())
        );
    };
    of("added", 7);
    theirs(&host, "bridge", "vlan add dev va vid 10-11");
    of("added", 10);
    of("added", 11);
    // With the port go its VLANs.
    theirs(&host, "ip", "link set va nomaster");
    of("removed", 7);
    running.stop().exit(0);
}

#[test]
fn a_refusal_says_what_is_wrong() {
    if has_run() {
        return;
    }
    let host = host();
    assert_refused(
        &host,
        &[
            ("vlan add dev va", "no VLAN is given", 2),
            ("vlan add vid 7", "no port is given for the VLAN", 2),
            ("vlan add dev va vid 7-", "\"7-\"", 2),
            (
                "vlan add dev va vid 7-5000",
                "VLAN 5000 is not between 1 and 4094",
                2,
            ),
            (
                "vlan add dev va vid 0",
                "VLAN 0 is not between 1 and 4094",
                2,
            ),
            (
                "vlan add dev va vid 8-7",
                "the range of VLANs ends at 7, before it begins at 8",
                2,
            ),
            (
                "vlan add dev va vid 7-8 pvid",
                "pvid applies to one VLAN, not to a range",
                2,
            ),
            (
                "vlan add dev va vid 7 state blocking",
                "can be set only after it was added",
                2,
            ),
            ("vlan set dev va vid 7 pvid", "add the VLAN again", 2),
            ("vlan set dev va vid 7 state nonsense", "\"nonsense\"", 2),
            ("vlan add dev va vid 7 frob", "\"frob\"", 2),
            (
                "vlan append dev va vid 7",
                "\"append\" is not a known verb",
                2,
            ),
            ("vlan frob", "\"frob\" is not a known verb", 2),
            (
                "vlan set dev va vid 7 state blocking",
                "cannot set VLAN 7 of link",
                1,
            ),
            ("vlan add dev vb vid 7", "cannot add VLAN 7 of link", 4),
        ],
    );
    let (text, code) = refused_nobody(&host, "vlan add dev va vid 7");
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("(needs CAP_NET_ADMIN)"), "{text}");
}
