//! Test hosts are in the expected namespace and nowhere else. Compared with `/proc` and `ip -json`.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{env, fs};

use crate::witness::{drain, ip_json, wait_for_events};
use abi::namespace::{NetNamespace, Step};
use netlink::{Event, Gro, IfName, Link, Netlink, Veth};
use tapline_lab::net::refuse_the_machine;
use tapline_lab::{Host, Net, rerun};

/// What `/proc` says of the namespace of the calling thread.
fn here() -> String {
    let link = fs::read_link("/proc/thread-self/ns/net").expect("/proc");
    link.to_string_lossy().into_owned()
}

#[test]
fn hosts_are_in_namespaces_of_their_own() {
    let [left, right] = Net::new().pair();
    let places = BTreeSet::from([here(), left.run(here), right.run(here)]);
    assert_eq!(places.len(), 3, "{places:?}");
}

#[test]
fn a_job_leaves_the_caller_where_it_was() {
    let before = here();
    let host = Host::new("host");
    assert_ne!(host.run(here), before);
    assert_eq!(here(), before);
}

#[test]
fn a_command_runs_on_its_host() {
    let host = Host::new("host");
    let mut command = host.command("/usr/bin/readlink");
    let output = command
        .arg("/proc/self/ns/net")
        .output()
        .expect("readlink runs");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        host.run(here)
    );
}

#[test]
fn a_command_is_killed_with_the_thread_that_spawned_it() {
    let host = Host::new("host");
    // It would wait forever: its input is a pipe that this test holds open.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let spawn = || {
        host.command("/usr/bin/cat")
            .stdin(reader)
            .spawn()
            .expect("cat runs")
    };
    let mut child = std::thread::scope(|scope| scope.spawn(spawn).join()).expect("the thread");
    assert_eq!(
        child.wait().expect("waited").to_string(),
        "signal: 9 (SIGKILL)"
    );
    drop(writer);
}

#[test]
fn a_panic_in_a_job_is_the_tests() {
    let host = Host::new("host");
    let panic = std::panic::catch_unwind(|| host.run(|| panic!("told on the host")));
    let panic = panic.expect_err("a panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"told on the host"));
}

#[test]
#[should_panic(expected = "lab does not act in the network namespace of the test process")]
fn the_guard_refuses_the_tests_own_namespace() {
    refuse_the_machine(&NetNamespace::current().expect("a namespace"));
}

#[test]
fn interfaces_are_what_ip_shows() {
    let [left, right] = Net::new().pair();
    for host in [&left, &right] {
        let own = host.interface();
        let shown = ip_json(host, &["address", "show", "dev", &own.name.to_string()]);
        assert_eq!(shown[0]["ifindex"], own.index.0);
        assert_eq!(shown[0]["address"], own.mac.to_string());
        assert_eq!(shown[0]["operstate"], "UP");
        let addresses = shown[0]["addr_info"].as_array().expect("addresses");
        let addresses: Vec<_> = addresses
            .iter()
            .map(|entry| entry["local"].clone())
            .collect();
        assert_eq!(addresses, [own.v4.to_string(), own.v6.to_string()]);
    }
    let neighbours = ip_json(&left, &["neighbour", "show", "nud", "permanent"]);
    let neighbours = neighbours.as_array().expect("neighbours").iter();
    let found: BTreeSet<_> = neighbours
        .map(|entry| format!("{} {}", entry["dst"], entry["lladdr"]))
        .collect();
    let there = right.interface();
    let expected = [there.v4.to_string(), there.v6.to_string()];
    let expected = expected.map(|ip| format!("{ip:?} {:?}", there.mac.to_string()));
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn parallel_networks_do_not_meet() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let [left, right] = Net::new().pair();
                let place = (left.interface().v4, 7000);
                let socket = left
                    .run(|| std::net::UdpSocket::bind(place))
                    .expect("a free port");
                let deadline = Some(Duration::from_secs(10));
                socket.set_read_timeout(deadline).expect("a deadline");
                let from = (right.interface().v4, 7000);
                let sender = right
                    .run(|| std::net::UdpSocket::bind(from))
                    .expect("a free port");
                sender.send_to(b"x", place).expect("sent");
                assert_eq!(socket.recv(&mut [0; 4]).expect("received"), 1);
                assert_eq!(left.counters().rx_packets, 1);
            });
        }
    });
}

#[test]
fn gro_of_an_end_is_switched() {
    let [left, _right] = Net::new().pair();
    for gro in [Gro::On, Gro::Off] {
        left.set_gro(gro);
        assert_eq!(
            left.netlink().gro(left.interface().name).expect("told"),
            gro
        );
        let name = left.interface().name.to_string();
        let output = left
            .command("ethtool")
            .args(["-k", &name])
            .output()
            .expect("ethtool runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let word = if gro == Gro::On { "on" } else { "off" };
        assert!(
            text.contains(&format!("generic-receive-offload: {word}")),
            "{text}"
        );
    }
}

/// Names of namespaces are files, so this happens under a `/run` of its own.
#[test]
fn a_namespace_is_found_by_the_name_ip_gave_it() {
    if env::var_os(IN_PRIVATE_RUN).is_some() {
        let named = NetNamespace::named("blue").expect("it is there");
        let place = named.run(here).expect("entered");
        assert_ne!(place, here());
        println!("\n{place}");
        return;
    }
    let script = "mount -t tmpfs none /run && ip netns add blue && \
        ip netns exec blue readlink /proc/self/ns/net && exec \"$0\" \"$@\"";
    let mut command = Host::new("host").command("unshare");
    command.args(["--mount", "sh", "-c", script]);
    command.arg(rerun::program()).args(rerun::arguments());
    let output = command.env(IN_PRIVATE_RUN, "1").output().expect("a shell");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let places: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("net:["))
        .collect();
    let [by_ip, by_us] = places[..] else {
        panic!("{text}")
    };
    assert_eq!(by_ip, by_us);
}

#[test]
fn a_name_is_one_component_of_a_path() {
    for name in ["", ".", "..", "../../proc/1/ns/net", "/proc/self/ns/net"] {
        let error = NetNamespace::named(name).expect_err("no name");
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput, "{name}");
    }
    let error = NetNamespace::named("no-such-namespace").expect_err("there is none");
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        "cannot open network namespace /run/netns/no-such-namespace"
    );
}

#[test]
fn what_is_no_namespace_is_not_entered() {
    let file = NetNamespace::open(Path::new("/dev/null")).expect("opened");
    let error = file
        .run(|| unreachable!("inside a file"))
        .expect_err("refused");
    assert_eq!(error.step, Step::Enter);
    assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
}

/// Set for the process that looks for a namespace by its name.
const IN_PRIVATE_RUN: &str = "TAPLINE_LAB_IN_PRIVATE_RUN";

/// Set for the process that is to be killed.
const VICTIM: &str = "TAPLINE_LAB_VICTIM";

/// A namespace has no name and no mount: with the process that holds it, it is gone, and with it the
/// far end of a veth that stands elsewhere.
#[test]
fn a_killed_process_takes_its_namespace_along() {
    if env::var_os(VICTIM).is_some() {
        return hold_a_namespace();
    }
    let survivor = Host::new("survivor");
    let program = rerun::program();
    let mut command = survivor.command(program.to_str().expect("a path in UTF-8"));
    command
        .args(rerun::arguments())
        .env(VICTIM, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("the victim");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    assert!(
        lines.map_while(Result::ok).any(|line| line == "held"),
        "the victim holds it"
    );
    let mut watch = survivor.watch();
    drain(&mut watch);

    child.kill().expect("killed");
    child.wait().expect("waited");
    let removed = loop {
        match watch.try_next().expect("link events") {
            Some(Event::Removed(link)) => break link,
            Some(_) => {}
            None => wait_for_events(&watch, "the namespace outlives its process"),
        }
    };
    assert_eq!(removed.ifname().to_string(), "far");
}

/// Holds a namespace and a veth out of it until it is killed.
fn hold_a_namespace() {
    let namespace = NetNamespace::create().expect("a namespace");
    let outside = NetNamespace::current().expect("a namespace");
    let end = |name| Link::named(IfName::new(name).expect("a name"));
    let far = end("far").in_namespace(outside);
    let mut netlink = Netlink::open_in(&namespace).expect("a handle");
    netlink
        .add(&end("near").kind(Veth::to(far)))
        .expect("a veth");
    drop(netlink);
    println!("\nheld");
    io::stdin()
        .read_line(&mut String::new())
        .expect("nothing comes");
}
