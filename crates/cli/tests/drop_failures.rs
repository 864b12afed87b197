//! What drop mode says when it cannot do what it was asked to, and how it exits.

use crate::support::files::count;
use crate::support::frames::frames;
use crate::support::run::{command, run, spawn, start};
use crate::support::{PROGRAM, Scene, ip, name};
use lab::Host;
use lab::bpf::{AttachedXdpProgram, Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};

fn on(host: &Host, interface: &str, arguments: &[&str]) -> std::process::Command {
    let mut command = host.command(PROGRAM);
    command.args(["capture", "--mode", "drop", "-i", interface]);
    command.args(arguments);
    command
}

#[test]
fn a_driver_without_xdp_is_told_of_and_got_around() {
    let scene = Scene::new();
    let tunnel = "link add tun1 type vxlan id 5 dstport 4789 remote 198.18.0.1";
    ip(&scene.right, &tunnel.split(' ').collect::<Vec<_>>());
    ip(&scene.right, &["link", "set", "tun1", "up"]);
    for interface in ["lo", "tun1"] {
        let ended = spawn(on(&scene.right, interface, &["--xdp", "native"])).finish();
        let complaint = ended.refusal(4);
        assert!(complaint.contains(interface), "{complaint}");
        assert!(
            complaint.contains("the driver does not support native XDP"),
            "{complaint}"
        );
        assert!(
            complaint.ends_with("(use --xdp auto or generic)"),
            "{complaint}"
        );
        let short = ["--duration", "1ms", "--json"];
        let ended = spawn(on(&scene.right, interface, &short)).finish();
        ended.exit(0);
        let (begun, summary) = (&ended.events()[0], ended.summary().0);
        assert_eq!(summary["xdp_mode"], "generic");
        for told in [&begun["interfaces"][0], &summary, &summary["interfaces"][0]] {
            assert_eq!(told["native_refusal"], "Operation not supported", "{told}");
        }
        let ended = spawn(on(&scene.right, interface, &["--duration", "1ms"])).finish();
        let said = &ended.stderr[0];
        assert!(
            said.contains("its driver refused native XDP: Operation not supported"),
            "{said}"
        );
        let line = format!(
            "XDP ran in the stack: the driver of {interface} refused it: Operation not supported"
        );
        assert!(ended.stderr.contains(&line), "{ended:?}");
        let line = "in the stack a super-packet, joined from several of the wire or yet to be split, \
                    comes and counts as one packet";
        assert!(ended.stderr.iter().any(|told| told == line), "{ended:?}");
    }
}

/// A tun that no program has open has no queue; what is in the way is one line with one remedy.
#[test]
fn an_interface_without_queues_is_refused_in_one_line() {
    let scene = Scene::new();
    ip(&scene.right, &["tuntap", "add", "tun7", "mode", "tun"]);
    ip(&scene.right, &["link", "set", "tun7", "up"]);
    let ended = spawn(on(&scene.right, "tun7", &[])).finish();
    assert_eq!(
        ended.refusal(4),
        "cannot receive over AF_XDP from tun7: it has no receive queue (use --mode mirror)"
    );
}

#[test]
fn what_drop_mode_cannot_do_is_status_4() {
    let scene = Scene::new();
    let program = scene.file("program");
    std::fs::write(&program, "1\n6 0 0 96\n").expect("a program");
    for (arguments, remedy) in [
        (&["--direction", "out"][..], "use --direction in"),
        (&["--timestamp", "hardware"], "use --timestamp kernel"),
        (&["--bpf", &program], "give its expression"),
    ] {
        let arguments = [&["--mode", "drop"], arguments].concat();
        let ended = run(&scene.right, &arguments);
        let complaint = ended.refusal(4);
        assert!(complaint.contains(remedy), "{complaint}");
        assert!(complaint.contains("--mode mirror") || remedy.contains("expression"));
    }
}

/// `tapline capture --mode drop` with no capabilities but `kept`.
fn unprivileged(host: &Host, kept: &str, before: &[&str]) -> std::process::Command {
    let mut command = host.command("setpriv");
    command.args(["--bounding-set", &format!("-all{kept}")]);
    command.args(before);
    command.args([PROGRAM, "capture", "--mode", "drop", "-i", &name(host)]);
    command.args(["--duration", "1ms", "udp"]);
    command
}

#[test]
fn each_missing_privilege_is_named() {
    let scene = Scene::new();
    let link = name(&scene.right);
    for (kept, missing) in [
        ("", "CAP_NET_RAW, CAP_BPF and CAP_NET_ADMIN"),
        (",+net_raw,+ipc_lock", "CAP_BPF and CAP_NET_ADMIN"),
        (",+net_raw,+ipc_lock,+bpf", "CAP_NET_ADMIN"),
    ] {
        let ended = spawn(unprivileged(&scene.right, kept, &[])).finish();
        let expected = format!(
            "cannot capture from {link} by XDP: Operation not permitted (needs {missing}; run with \
             sudo or setcap)"
        );
        assert_eq!(ended.refusal(3), expected, "{kept}");
    }
    let enough = ",+net_raw,+ipc_lock,+bpf,+net_admin";
    spawn(unprivileged(&scene.right, enough, &[]))
        .finish()
        .exit(0);
    // The place of a port is computed.
    let mut command = unprivileged(&scene.right, enough, &[]);
    let ended = spawn({
        command.args(["port", "53"]);
        command
    })
    .finish();
    let complaint = ended.refusal(3);
    assert!(complaint.contains("needs CAP_PERFMON"), "{complaint}");
}

#[test]
fn too_little_locked_memory_is_told_with_a_remedy() {
    let scene = Scene::new();
    let kept = ",+net_raw,+bpf,+net_admin";
    let limited = ["prlimit", "--memlock=1048576"];
    let ended = spawn(unprivileged(&scene.right, kept, &limited)).finish();
    let complaint = ended.refusal(3);
    assert!(complaint.contains("ulimit -l"), "{complaint}");
    assert!(complaint.contains("smaller buffer"), "{complaint}");
}

#[test]
fn another_program_is_left_in_its_place() {
    const XDP_PASS: i32 = 2;
    let scene = Scene::new();
    let code = [Insn::mov32(Reg::R0, XDP_PASS), Insn::Exit];
    let program = Program::load(ProgramKind::Xdp, "somebodys", &code).expect("a program");
    let index = scene.right.interface().index.0;
    let attach =
        || XdpLink::attach(&program, index, XdpAttachMode::Native).expect("a free interface");
    let link = scene.right.run(attach);
    let id = program.id().expect("its number");
    for place in ["native", "generic", "auto"] {
        let ended = run(&scene.right, &["--mode", "drop", "--xdp", place]);
        let complaint = ended.refusal(1);
        let holder = format!("program {id} (somebodys) is attached already");
        assert!(complaint.contains(&holder), "{complaint}");
    }
    drop(link);
    let ended = run(&scene.right, &["--mode", "drop", "--duration", "1ms"]);
    ended.exit(0);
}

#[test]
fn an_interface_that_is_missing_or_down_is_said_to_be() {
    let scene = Scene::new();
    let ended = spawn(on(&scene.right, "nowhere0", &[])).finish();
    let complaint = ended.refusal(1);
    assert!(
        complaint.contains("nowhere0: No such device"),
        "{complaint}"
    );
    assert!(complaint.contains("'ip link'"), "{complaint}");
    ip(&scene.right, &["link", "set", &name(&scene.right), "down"]);
    let ended = run(&scene.right, &["--mode", "drop"]);
    let complaint = ended.refusal(1);
    assert!(complaint.contains("is down"), "{complaint}");
    assert!(complaint.contains("ip link set"), "{complaint}");
}

#[test]
fn an_interface_that_goes_ends_the_capture_in_order() {
    for (change, said) in [
        (&["link", "delete"][..], "was removed"),
        (&["link", "set", "down"], "went down"),
    ] {
        let scene = Scene::new();
        let interface = name(&scene.right);
        let file = scene.file("file.pcapng");
        let flags = ["--mode", "drop", "-w", &file, "--stats-interval", "5ms"];
        let mut running = start(&scene.right, &flags);
        scene.send(&frames(40, 100));
        running.received(40);
        ip(&scene.right, &[change, &[&interface]].concat());
        let ended = running.finish();
        assert_eq!(ended.exit(1), format!("interface {interface} {said}"));
        let summary = ended.summary();
        assert_eq!(
            (summary.number("received"), summary.number("written")),
            (40, 40)
        );
        assert_eq!(count(&file), 40);
    }
}

#[test]
fn a_queue_that_another_has_is_said_to_be_taken_and_by_which_program() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let first = start(&scene.right, &["--mode", "drop"]);
    let held = scene
        .right
        .run(|| AttachedXdpProgram::of(scene.right.interface().index.0));
    let id = held.expect("an answer").expect("a program").program_id;
    let second = spawn(command(&scene.right, &["--mode", "drop"])).finish();
    let process = first.pid().as_raw_nonzero();
    assert_eq!(
        second.refusal(1),
        format!(
            "cannot receive from queue 0 of {link}, which another AF_XDP socket has: program {id} \
             (tapline_xsk) is attached already by process {process} (tapline), whose end detaches \
             it: Device or resource busy"
        )
    );
}

#[test]
fn a_queue_that_a_socket_without_a_program_has_is_said_to_be_taken() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let options = ring::XdpRingOptions::default();
    let socket = scene.right.run(|| ring::XdpRing::open(&link, &options));
    let _socket = socket.expect("a free queue");
    let ended = run(&scene.right, &["--mode", "drop"]);
    let complaint = ended.refusal(1);
    let said =
        format!("cannot receive from queue 0 of {link} (another AF_XDP socket has this queue");
    assert!(complaint.starts_with(&said), "{complaint}");
}
