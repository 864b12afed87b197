//! No command writes to a file name that another user has prepared in a directory like /tmp.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

use crate::support::files::capture;
use crate::support::run::{Ended, spawn};
use crate::support::{PROGRAM, Scene, tapline, words};

/// Somebody else than root, and another one.
const STRANGER: u32 = 12_345;
const USER: u32 = 12_346;

/// What is done, and the name that it writes to. `SHARED` is a directory like /tmp.
const OUTPUTS: [(&str, &str); 11] = [
    ("read CORPUS -w SHARED/out.pcapng", "out.pcapng"),
    ("read CORPUS -w SHARED/out.pcap.zst", "out.pcap.zst"),
    (
        "read CORPUS -w SHARED/out.pcapng --rotate-packets 20",
        "out_00002_20080810115113.pcapng",
    ),
    (
        "read CORPUS -w SHARED/out.pcapng --split flow",
        "out_00000_other.pcapng",
    ),
    (
        "send --udp --src 10.1.0.2 --dst 10.1.0.1 -c 1 -w SHARED/out.pcapng",
        "out.pcapng",
    ),
    (
        "capture -i lo --duration 1ms -w SHARED/out.pcapng",
        "out.pcapng",
    ),
    (
        "capture -i lo -w SHARED/out.pcapng --record 1MiB --trigger icmp -- ping -q -c 2 -i 0.01 127.0.0.1",
        "out-trigger-00001.pcapng",
    ),
    (
        "ping -q --backend xdp -c 1 10.1.0.1 --state SHARED/state",
        "state",
    ),
    ("generate SHARED", "man/tapline.1"),
    ("generate SHARED", "completions/tapline.bash"),
    (
        "extcap --extcap-interface tapline-lo --capture --fifo SHARED/packets",
        "packets",
    ),
];

/// A directory like /tmp that belongs to another user, in a scene.
fn shared(scene: &Scene) -> String {
    let shared = scene.file("shared");
    fs::create_dir_all(&shared).expect("a directory");
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("ours");
    shared
}

/// Puts another user's link at `name` to a file that everybody can write, and runs `line` as `user`. Returns how it ended, and
/// what is in the file then.
fn run_against(line: &str, name: &str, user: u32) -> (Ended, String) {
    let scene = Scene::new();
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o755)).expect("ours");
    let shared = shared(&scene);
    let target = scene.write("target", "kept");
    fs::set_permissions(&target, Permissions::from_mode(0o666)).expect("ours");
    let name = format!("{shared}/{name}");
    let folder = std::path::Path::new(&name).parent().expect("a folder");
    fs::create_dir_all(folder).expect("a directory");
    symlink(&target, &name).expect("a link");
    lchown(&name, Some(STRANGER), None).expect("root");
    chown(folder, Some(STRANGER), None).expect("root");
    fs::set_permissions(folder, Permissions::from_mode(0o1777)).expect("ours");
    let line = line
        .replace("SHARED", &shared)
        .replace("CORPUS", &capture("802.1w_rapid_STP.pcap"));
    let mut command = scene.right.command("setpriv");
    let user = user.to_string();
    let ids = [
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
        PROGRAM,
    ];
    command.args(ids).args(words(&line));
    command
        .current_dir(scene.folder.path())
        .env_remove("SUDO_UID");
    (
        spawn(command).finish(),
        fs::read_to_string(target).expect("a file"),
    )
}

#[track_caller]
fn refuses(line: &str, name: &str, user: u32) {
    let (ended, target) = run_against(line, name, user);
    assert_eq!(ended.status.code(), Some(1), "{line}: {ended:?}");
    let text = format!("it is a link of user {STRANGER}, in a directory where others can write");
    let errors = ended.stderr.join("\n");
    assert!(errors.contains(&text), "{line}: {errors}");
    assert_eq!(target, "kept", "{line}");
}

#[test]
fn root_writes_to_no_link_of_another_user() {
    for (line, name) in OUTPUTS {
        refuses(line, name, 0);
    }
}

#[test]
fn a_user_writes_to_no_link_of_another_one() {
    for (line, name) in OUTPUTS
        .iter()
        .filter(|(line, _)| !line.starts_with("capture") && !line.starts_with("ping"))
    {
        refuses(line, name, USER);
    }
}

#[test]
fn control_characters_of_names_do_not_reach_the_terminal() {
    let scene = Scene::new();
    let name = "a\u{1b}[2J\u{9b}1m\u{202e}b";
    let (input, folder) = (capture("802.1w_rapid_STP.pcap"), scene.file(""));
    let copy = format!("{folder}/{name}.pcap");
    fs::copy(&input, &copy).expect("copied");
    let mut command = scene.right.command("ip");
    let made = command
        .args(["link", "add", name, "type", "veth", "peer", "name", "other"])
        .status();
    assert!(made.expect("ip runs").success());
    let mut command = scene.right.command("ip");
    let set = command.args(["link", "set", name, "up"]).status();
    assert!(set.expect("ip runs").success());
    for (status, line) in [
        (0, format!("read {input} -w {folder}/{name}.pcapng")),
        (
            0,
            format!("read {input} -w {folder}/{name}-split.pcapng --split 10"),
        ),
        (0, format!("send -r {input} -w {folder}/{name}-sent.pcapng")),
        (0, format!("read {copy} --summary")),
        (0, format!("report {copy}")),
        (0, format!("index {copy}")),
        (
            0,
            format!("capture -i lo --duration 1ms -w {folder}/{name}-captured.pcapng"),
        ),
        (
            0,
            format!("capture -i {name} -i lo --duration 1ms -w {folder}/of-link.pcapng"),
        ),
        (
            0,
            format!("count -i {name} -i lo --interval 10ms --duration 10ms"),
        ),
        (
            0,
            format!("count -i {name} --by stamp --interval 10ms --duration 10ms"),
        ),
        (0, format!("flows -i {name} --duration 1ms")),
        (0, format!("latency -i {name} --duration 1ms")),
        (1, format!("index {folder}/{name}-1 {folder}/{name}-2")),
    ] {
        let ended = scene.run(&line);
        assert_eq!(ended.status.code(), Some(status), "{line}: {ended:?}");
        let told = [ended.stdout, ended.stderr].concat().join("\n");
        assert!(told.contains("a?[2J?1m?b"), "{line}: {told:?}");
        let escapes = told
            .chars()
            .filter(|sign| (sign.is_control() && *sign != '\n') || *sign == '\u{202e}');
        assert_eq!(escapes.count(), 0, "{line}: {told:?}");
    }
}

#[test]
fn an_index_replaces_links_of_others() {
    let scene = Scene::new();
    let shared = shared(&scene);
    fs::copy(
        capture("802.1w_rapid_STP.pcap"),
        format!("{shared}/in.pcap"),
    )
    .expect("copied");
    let target = scene.write("target", "kept");
    for name in ["in.pcap.index", "in.pcap.index.part"] {
        symlink(&target, format!("{shared}/{name}")).expect("a link");
        lchown(format!("{shared}/{name}"), Some(STRANGER), None).expect("root");
    }
    scene
        .run(&format!("index --again {shared}/in.pcap"))
        .exit(0);
    assert_eq!(fs::read_to_string(target).expect("a file"), "kept");
    let index = fs::symlink_metadata(format!("{shared}/in.pcap.index")).expect("an index");
    assert!(index.is_file());
}

#[test]
fn the_user_who_called_sudo_is_trusted() {
    let scene = Scene::new();
    let shared = shared(&scene);
    let link = format!("{shared}/out.pcap");
    symlink(scene.file("target"), &link).expect("a link");
    lchown(&link, Some(STRANGER), None).expect("root");
    let line = format!("read {} -w {link}", capture("802.1w_rapid_STP.pcap"));
    let by = |user: u32| {
        let mut command = tapline(&scene.right, &line);
        command.env("SUDO_UID", user.to_string());
        spawn(command).finish()
    };
    by(USER).exit(1);
    by(STRANGER).exit(0);
    assert!(fs::metadata(scene.file("target")).is_ok_and(|file| file.len() > 0));
}
