//! What `tapline count` says when it cannot do what it was asked to, and how it exits.

use crate::support;
use std::process::Command;

use crate::support::count::{command, counted, run, start, start_text};
use crate::support::frames::frames;
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, ip, name};
use lab::Host;

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let scene = Scene::new();
    let link = name(&scene.right);
    for (arguments, said) in [
        (&["--no-such-flag"][..], "unexpected argument"),
        (&["--direction", "up"], "use in, out or both"),
        (&["--interval", "5"], "a time needs a unit"),
        (&["--interval", "0s"], "must not be 0"),
        (&["--interval", "1us"], "interval"),
        (&["--duration", "x"], "duration"),
        (&["--by", "color"], "use src, dst, sport"),
        (&["--top", "5"], "--by"),
        (&["--groups", "5"], "--by"),
        (&["--by", "src", "--groups", "0"], "--groups"),
        (&["--layer", "l3"], "use l2, l2+fcs or l1"),
        (&["--ingress", "nic"], "use auto, xdp"),
        (&["--json", "--csv"], "cannot be used with"),
        (&["--metrics", "x"], "use PORT"),
        (&["=tcp"], "the name before = is missing"),
        (&[""], "use NAME=FILTER"),
        (&["web=tcp", "web=udp"], "class web is named twice"),
        (&["tcp", "tcp"], "class tcp is named twice"),
        (&["-i", &link], "named twice"),
    ] {
        let ended = run(&scene.right, arguments);
        let complaint = ended.refusal(2);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
    let mut without_interface = scene.right.command(PROGRAM);
    without_interface.arg("count");
    let ended = spawn(without_interface).finish();
    assert!(ended.refusal(2).contains("--interface <IF>"));
}

#[test]
fn too_many_classes_are_refused() {
    let scene = Scene::new();
    let names: Vec<String> = (0..257).map(|number| format!("c{number}=")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ended = run(&scene.right, &names);
    assert_eq!(ended.refusal(2), "more than 256 classes");
}

/// More ways through a program than the kernel's verifier remembers at a time.
#[test]
fn too_much_for_the_verifier_is_refused_with_a_way_out() {
    let scene = Scene::new();
    let class = |number: usize| {
        let term = |at: usize| {
            let mask = 1 + at / 40 + number % 3;
            format!("ether[{}] & {mask} = 1", 20 + at % 40)
        };
        let terms: Vec<_> = (0..400).map(term).collect();
        format!("c{number}={}", terms.join(" or "))
    };
    let classes: Vec<_> = (0..64).map(class).collect();
    let classes: Vec<_> = classes.iter().map(String::as_str).collect();
    let ended = run(&scene.right, &classes);
    let complaint = ended.exit(4);
    let said = "too complex.: Bad address (the program of all classes is too long; use fewer \
                classes, or two counts)";
    assert!(complaint.ends_with(said), "{complaint}");
}

#[test]
fn more_groups_than_memory_is_sane_for_are_refused() {
    let scene = Scene::new();
    let ended = run(&scene.right, &["--by", "src", "--groups", "4294967295"]);
    let complaint = ended.refusal(2);
    let start = "4294967295 groups are more than ";
    assert!(complaint.starts_with(start), "{complaint}");
    assert!(
        complaint.ends_with(" bytes of memory (use a smaller --groups)"),
        "{complaint}"
    );
}

#[test]
fn a_class_without_packets_anywhere_is_refused() {
    let scene = Scene::new();
    let link = name(&scene.right);
    for (direction, class) in [
        ("out", "a=inbound"),
        ("in", "a=outbound"),
        ("both", "a=tcp and udp"),
    ] {
        let ended = run(&scene.right, &["--direction", direction, class]);
        let expected = format!(
            "filter of class a is invalid for {link}: column 1: expression rejects all packets"
        );
        assert_eq!(ended.exit(2), expected);
    }
}

#[test]
fn a_wrong_filter_is_shown_with_its_place() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let ended = run(&scene.right, &["all=", "dns=udp prot 53"]);
    let complaint = ended.exit(2);
    let start = format!("filter of class dns is invalid for {link}: ");
    assert!(complaint.starts_with(&start), "{complaint}");
    assert!(complaint.contains("did you mean \"port\"?"), "{complaint}");
    assert_eq!(ended.stderr[1..], ["  udp prot 53", "      ^^^^"]);
    // A name with a blank, and a comparison, which is none.
    for (class, has_hint) in [
        ("my web=tcp port 80", true),
        ("tcp[13] & 2 = 2 ad udp", false),
    ] {
        let ended = run(&scene.right, &[class]);
        let complaint = ended.exit(2);
        let hint = " (the NAME of 'NAME=FILTER' has no blanks)";
        assert_eq!(complaint.ends_with(hint), has_hint, "{complaint}");
    }
    // The words of a filter that is not quoted.
    let ended = run(&scene.right, &["web=tcp", "port", "80"]);
    let complaint = ended.exit(2);
    assert!(
        complaint.starts_with("filter of class port is invalid"),
        "{complaint}"
    );
    assert!(complaint.contains("a class is one argument"), "{complaint}");
}

#[test]
fn what_a_filter_may_not_be_expected_to_mean_is_said() {
    let scene = Scene::new();
    let classes = ["plain=tcp", "odd=vlan or ip"];
    let mut running = spawn(command(&scene.right, &classes));
    let warning = running.error_line();
    assert!(
        warning.starts_with("warning: column 1: \"vlan\""),
        "{warning}"
    );
    assert_eq!(running.error_line(), "  vlan or ip");
    assert_eq!(running.error_line(), "  ^^^^");
    assert!(running.error_line().starts_with("counting on "));
    running.stop().exit(0);
}

#[test]
fn an_unknown_interface_is_named() {
    let scene = Scene::new();
    let mut command = scene.right.command(PROGRAM);
    command.args(["count", "-i", "nowhere0", "web=tcp port 80"]);
    let ended = spawn(command).finish();
    let complaint = ended.refusal(1);
    assert!(
        complaint.contains("nowhere0: No such device"),
        "{complaint}"
    );
    assert!(complaint.contains("'ip link'"), "{complaint}");
}

/// `tapline count` on the host's interface, with no capabilities but `kept`.
fn unprivileged(host: &Host, kept: &str, arguments: &[&str]) -> Command {
    let mut command = host.command("setpriv");
    command.args(["--bounding-set", &format!("-all{kept}"), PROGRAM]);
    command.args(["count", "-i", &name(host)]).args(arguments);
    command
}

#[test]
fn without_privilege_it_says_which_are_missing() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let [not_permitted, denied] = ["Operation not permitted", "Permission denied"];
    for (kept, answer, missing) in [
        ("", not_permitted, "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"),
        (
            ",+net_raw",
            not_permitted,
            "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON",
        ),
        (",+net_admin", not_permitted, "CAP_BPF and CAP_PERFMON"),
        (",+bpf", not_permitted, "CAP_NET_ADMIN and CAP_PERFMON"),
        (",+bpf,+perfmon", not_permitted, "CAP_NET_ADMIN"),
        // The verifier, which has more to say, of no use to who lacks a privilege.
        (",+bpf,+net_admin", denied, "CAP_PERFMON"),
    ] {
        for ingress in ["auto", "tc"] {
            let arguments = ["--ingress", ingress, "--by", "src", "web=tcp port 80"];
            let ended = spawn(unprivileged(&scene.right, kept, &arguments)).finish();
            let expected = format!(
                "cannot count on {link}: {answer} (needs {missing}; run with sudo or setcap)"
            );
            assert_eq!(ended.refusal(3), expected, "{kept}");
        }
    }
}

/// There a process may have them all, and the kernel asks for those outside.
#[test]
fn the_privileges_of_a_user_namespace_are_said_to_be_none() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let mut command = scene.right.command("unshare");
    command.args(["--user", "--map-root-user", PROGRAM, "count", "-i", &link]);
    assert_eq!(
        spawn(command).finish().refusal(3),
        format!(
            "cannot count on {link}: Operation not permitted (needs CAP_BPF, CAP_NET_ADMIN and \
             CAP_PERFMON in the initial user namespace; run with sudo or setcap)"
        )
    );
}

#[test]
fn the_privileges_it_names_are_enough() {
    let scene = Scene::new();
    let kept = ",+bpf,+net_admin,+perfmon";
    let classes = ["test=ether proto 0x88b5", "--json", "--interval", "5ms"];
    let mut running = spawn(unprivileged(&scene.right, kept, &classes));
    running.ready();
    scene.send(&frames(20, 100));
    counted(&mut running, "test", 20);
    running.stop().exit(0);
}

#[test]
fn an_interface_that_is_removed_ends_the_count_in_order() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let mut running = start(&scene.right, &["all="]);
    scene.send(&frames(40, 100));
    counted(&mut running, "all", 40);
    ip(&scene.right, &["link", "delete", &link]);
    let ended = running.finish();
    assert_eq!(ended.exit(1), format!("interface {link} was removed"));
    assert_eq!(
        support::count::tally(&ended.summary().0["classes"][0]).0,
        40
    );
    // That it goes down first is nothing to do anything about.
    assert!(ended.events().iter().all(|event| event["event"] != "link"));
    let scene = Scene::new();
    let running = start_text(&scene.right, &["all="]);
    ip(&scene.right, &["link", "delete", &link]);
    let ended = running.finish();
    ended.exit(1);
    assert!(ended.stderr.iter().all(|line| !line.contains("warning")));
    assert!(ended.stdout.iter().all(|line| !line.contains("down")));
}

#[test]
fn nothing_is_left_at_the_interface() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let attached = || -> bool {
        let shown = support::ip_json(&scene.right, &["link", "show", &link]);
        let xdp = !shown[0]["xdp"].is_null();
        let filters = scene
            .right
            .command("tc")
            .args(["qdisc", "show", "dev", &link])
            .output();
        let filters = String::from_utf8(filters.expect("tc runs").stdout).expect("text");
        xdp || filters.contains("clsact")
    };
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
        let running = start_text(&scene.right, &["all="]);
        assert!(attached());
        running.signal(signal);
        running.finish();
        assert!(!attached());
    }
}
