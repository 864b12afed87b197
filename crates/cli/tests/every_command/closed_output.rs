//! If the reader of standard output closes it, every subcommand ends in order.

use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use crate::support::Scene;
use crate::support::frames::frames;
use crate::support::run::spawn_into;

/// A stream without a reader. Unlike a pipe's, its other end is closed for good even while another
/// process that is just being started has a copy of it.
fn closed() -> OwnedFd {
    let (read, write) = UnixStream::pair().expect("a stream");
    read.shutdown(Shutdown::Both).expect("the reader goes");
    write.into()
}

#[test]
fn a_closed_pipe_ends_the_job_normally() {
    let scene = Scene::new();
    let running = scene.capture("-w FILE -c 500");
    scene.send(&frames(500, 1000));
    running.done();
    for line in [
        "count -i right0 --interval 1ms",
        "count -i right0 --interval 1ms --json",
        "count -i right0 --interval 1ms --csv",
        "count -i right0 --interval 1h --duration 1ms",
        "capture -i right0 --json",
        "capture -i right0 --mode drop --json",
        "capture -i right0 -w -",
        "capture -i right0 -w - --queues 2",
        "send -w - --udp --src 10.1.0.2 --dst 10.1.0.1 -c 1000",
        "latency -i right0 --json",
        "latency -i right0 --stats-interval 1ms",
        "ping 10.1.0.1 --interval 1ms",
        "ping 10.1.0.1 --interval 1ms --json",
        "ping 10.1.0.1 -c 1 --csv",
        "ping 10.1.0.1 127.0.0.1 -c 1",
        "ping --dry-run 10.1.0.1",
        "read FILE",
        "read FILE --json",
        "read FILE -q",
        "read FILE -w -",
        "read FILE --summary",
        "read FILE --summary --json",
        "flows FILE",
        "flows FILE --json",
        "flows FILE --csv",
        "flows -i right0 --json --metrics 0",
        "filter tcp",
        "filter --json tcp",
        "filter --packet FILE tcp",
        "filter --packet FILE --json tcp",
        "doctor",
        "doctor --json",
    ] {
        let mut command = scene.command(line);
        command.stdout(closed());
        let ended = spawn_into(command).finish();
        assert_eq!(ended.exit(0), "", "{line}");
    }
}

/// A reader that is gone is no failure; a device without room is one.
#[test]
fn other_failures_of_standard_output_are_reported() {
    let scene = Scene::new();
    let mut command = scene.command("count -i right0 --interval 1ms");
    command.stdout(File::create("/dev/full").expect("the device"));
    let ended = spawn_into(command).finish();
    assert_eq!(
        ended.exit(1),
        "cannot write to standard output: No space left on device"
    );
}
