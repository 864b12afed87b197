//! Commands on a full disk: a file system of 64 KiB in a separate mount namespace.

use std::fs;

use super::scene;
use crate::support::frames::frames;
use crate::support::rpcap::serve;
use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene};

/// `bash` with `script`, in which `SMALL` is the full disk, `DIR` the folder of the scene and `TAPLINE` the program.
fn script(scene: &Scene, script: &str) -> std::process::Command {
    let small = scene.file("small");
    fs::create_dir_all(&small).expect("a folder");
    let script = script
        .replace("SMALL", &small)
        .replace("DIR", &scene.file(""))
        .replace("TAPLINE", PROGRAM);
    let script = format!("mount -t tmpfs -o size=64k tmpfs {small} || exit 99\n{script}");
    let mut command = scene.right.command("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c", &script]);
    command
}

#[test]
fn what_cannot_be_written_is_cut_or_removed() {
    let scene = scene();
    for line in [
        "TAPLINE read DIR/large.pcap -w SMALL/out.pcapng",
        "TAPLINE send -r DIR/large.pcap -w SMALL/out.pcapng",
        "cp DIR/in.pcap SMALL; head -c 1M /dev/zero >SMALL/rest 2>/dev/null; TAPLINE index SMALL/in.pcap",
        "head -c 1M /dev/zero >SMALL/rest 2>/dev/null; TAPLINE flows -i right0 --json -c 10 -w SMALL/flows.parquet",
    ] {
        let mut running = spawn(script(&scene, line));
        if line.contains("flows") {
            running.ready();
            scene.send(&frames(10, 100));
        }
        let ended = running.finish();
        assert_eq!(ended.status.code(), Some(1), "{line}: {ended:?}");
        ended.assert_mentions("No space left on device");
    }
}

/// The disk has room for the beginning of an HTML page: one page of memory, which is the unit of tmpfs. A file with
/// two names is not replaced, so the page is written to it.
#[test]
fn no_half_page_is_left() {
    let scene = scene();
    for line in [
        "report DIR/in.pcap -o SMALL/page.html",
        "ping -q -c 2 -i 0.01 127.0.0.1 --report SMALL/page.html",
        "ping -q -c 2 -i 0.01 --backend xdp 10.1.0.1 --report SMALL/page.html",
    ] {
        for (prepare, files, name) in [
            ("true", 2, "/.page.html."),
            (
                "chmod 755 SMALL && ln SMALL/page.html SMALL/name",
                3,
                "/page.html>",
            ),
        ] {
            let script_of_line = format!(
                "mount -o remount,nr_blocks=2 SMALL && head -c $(getconf PAGESIZE) /dev/zero >SMALL/rest || exit 99; \
                 touch SMALL/page.html && {prepare} || exit 97; \
                 strace -f -y -qq -e trace=write -o DIR/trace TAPLINE {line}; status=$?; \
                 test -e SMALL/page.html -a ! -s SMALL/page.html || exit 98; \
                 test \"$(ls -A SMALL | wc -l)\" = {files} || exit 96; exit $status"
            );
            let ended = spawn(script(&scene, &script_of_line)).finish();
            assert_eq!(ended.status.code(), Some(1), "{line}: {ended:?}");
            ended.assert_mentions("No space left on device");
            let trace = fs::read_to_string(scene.file("trace")).expect("a trace");
            let written = trace.lines().filter_map(|call| {
                let (file, _) = call.split_once(", ")?;
                let (_, result) = call.rsplit_once(" = ")?;
                result.parse::<u64>().ok().filter(|_| file.contains(name))
            });
            assert!(written.sum::<u64>() > 0, "{line}: {trace}");
        }
    }
}

#[test]
fn what_a_server_sends_is_cut() {
    let scene = scene();
    let (server, port) = serve(&scene.right, "");
    let line =
        format!("TAPLINE capture --json -i rpcap://127.0.0.1:{port}/right0 -w SMALL/a.pcapng");
    let mut client = spawn(script(&scene, &line));
    client.ready();
    scene.send(&frames(2000, 1000));
    let ended = client.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    ended.assert_mentions("No space left on device");
    server.stop().exit(0);
}
