//! Error messages and exit statuses of drop mode.

use lab::bpf::{AttachedXdpProgram, Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};
use serde_json::json;

use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene, assert_has, assert_refused, ip};

#[test]
fn a_driver_without_xdp_is_reported_and_another_back_end_is_used() {
    let scene = Scene::new();
    ip(
        &scene.right,
        "link add tun1 type vxlan id 5 dstport 4789 remote 198.18.0.1",
    );
    ip(&scene.right, "link set tun1 up");
    for interface in ["lo", "tun1"] {
        let capture = |line: &str| scene.run(&format!("capture --mode drop -i {interface} {line}"));
        let refusal = format!(
            "tapline: cannot take packets from {interface}: cannot attach native XDP program to {interface} (the \
             driver does not support native XDP): Operation not supported (use --xdp auto or generic)"
        );
        assert_refused(capture, &[("--xdp native", 4, &refusal)]);
        let ended = capture("--duration 1ms --json");
        let told = json!({"xdp_mode": "generic", "native_refusal": "Operation not supported"});
        ended.done().has(&told);
        ended.done().has(&json!({"interfaces": [told]}));
        assert_has(&ended.events()[0], &json!({"interfaces": [told]}));
        let ended = capture("--duration 1ms");
        ended.assert_mentions("its driver refused native XDP: Operation not supported");
        ended.assert_says(&format!(
            "generic XDP on {interface}: the driver refused native XDP: Operation not supported"
        ));
        ended.assert_says("generic XDP sees GRO and GSO super-packets: each counts as one packet");
    }
}

/// A tun that no program has open has no queue; what is in the way is one line with one remedy.
#[test]
fn an_interface_without_queues_is_refused_in_one_line() {
    let scene = Scene::new();
    ip(&scene.right, "tuntap add tun7 mode tun");
    ip(&scene.right, "link set tun7 up");
    let said = "tapline: cannot receive over AF_XDP from tun7: it has no receive queue (use --mode mirror)";
    assert_refused(
        |line| scene.run(line),
        &[("capture --mode drop -i tun7", 4, said)],
    );
}

#[test]
fn too_little_locked_memory_is_reported_with_a_remedy() {
    let scene = Scene::new();
    let run = |line: &str| {
        let mut command = scene.right.command("setpriv");
        command.args(["--bounding-set", "-all,+net_raw,+bpf,+net_admin"]);
        command
            .args(["prlimit", "--memlock=1048576", PROGRAM])
            .args(line.split(' '));
        spawn(command).finish()
    };
    let line = "capture --mode drop -i right0 --duration 1ms udp";
    assert_refused(run, &[(line, 3, "ulimit -l"), (line, 3, "smaller buffer")]);
}

#[test]
fn another_program_is_left_in_its_place() {
    const XDP_PASS: i32 = 2;
    let scene = Scene::new();
    let code = [Insn::mov32(Reg::R0, XDP_PASS), Insn::Exit];
    let program = Program::load(ProgramKind::Xdp, "somebodys", &code).expect("a program");
    let index = scene.right.interface().index.0;
    let link = scene
        .right
        .run(|| XdpLink::attach(&program, index, XdpAttachMode::Native));
    let link = link.expect("a free interface");
    let id = program.id().expect("its number");
    let holder = format!("program {id} (somebodys) is attached already");
    let capture = |line: &str| scene.run(&format!("capture -i right0 --mode drop {line}"));
    let places = ["--xdp native", "--xdp generic", "--xdp auto"];
    assert_refused(capture, &places.map(|place| (place, 1, &*holder)));
    drop(link);
    capture("--duration 1ms").exit(0);
}

#[test]
fn a_queue_in_use_is_reported_with_the_program_that_uses_it() {
    let scene = Scene::new();
    let drop_mode = "capture -i right0 --mode drop";
    let index = scene.right.interface().index.0;
    let first = scene.capture("--mode drop");
    let held = scene.right.run(|| AttachedXdpProgram::of(index));
    let id = held.expect("an answer").expect("a program").program_id;
    let process = first.pid().as_raw_nonzero();
    let said = format!(
        "tapline: cannot receive from queue 0 of right0, which another AF_XDP socket has: program {id} \
         (tapline_xsk) is attached already by process {process} (tapline), whose end detaches it: Device or \
         resource busy"
    );
    assert_refused(|line| scene.run(line), &[(drop_mode, 1, &said)]);
    first.stop().exit(0);
    // A socket without a program.
    let options = ring::XdpRingOptions::default();
    // The kernel frees the queue of a closed socket later.
    let open = || ring::XdpRing::open("right0", &options);
    let _socket = scene.right.run(|| lab::wait::until_ok(open));
    let said = "cannot receive from queue 0 of right0 (another AF_XDP socket has this queue";
    assert_refused(|line| scene.run(line), &[(drop_mode, 1, said)]);
}
