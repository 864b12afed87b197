//! Functions of the program that throw exceptions or end their thread, and threads that are cancelled.

use std::path::PathBuf;
use std::process::Command;

use lab::generator::udp_frame;
use lab::{Net, once};

use crate::support::{BOTH, Library, built, repository, room, start, succeed};

fn program() -> PathBuf {
    let program = built().join(format!("unwinding-{}", std::process::id()));
    once::build(&program, || {
        let mut command = Command::new(lab::tool::path("g++"));
        command
            .args(["-std=c++20", "-g", "-Wall", "-Wextra", "-Werror"])
            .arg(room().join("tests/programs/unwinding.cpp"))
            .arg("-o")
            .arg(&program)
            .args(["-lpcap", "-pthread"]);
        succeed(&mut command);
    });
    program
}

/// What the program prints on a host with 20 packets in its ring.
fn live(library: Library, device: Option<&str>) -> Vec<String> {
    let [left, right] = Net::new().pair();
    let own = right.interface().name.to_string();
    let arguments = ["live", device.unwrap_or(&own)];
    let mut running = start(&right, library, &program(), &arguments);
    running.ready();
    left.send((0..20).map(|_| udp_frame(60)));
    running.tell(20);
    running.finish()
}

#[test]
fn a_capture_goes_on_after_exceptions_and_after_threads_that_end_in_a_call() {
    for device in [None, Some("any")] {
        let [libpcap, tapline] = BOTH.map(|library| live(library, device));
        let expected = [
            "loop threw",
            "dispatch threw",
            "next 1",
            "exited",
            "cancelled",
            "statistics 0",
        ];
        assert_eq!(tapline, expected, "{device:?}");
        assert_eq!(libpcap, expected, "{device:?}");
    }
}

#[test]
fn a_file_can_be_read_on_after_an_exception() {
    let file = repository().join("lab/corpus/captures/EIGRP_goodbye.pcap");
    let file = file.to_str().expect("a path of text");
    let [_left, right] = Net::new().pair();
    for library in BOTH {
        let running = start(&right, library, &program(), &["file", file]);
        let lines = running.finish();
        assert_eq!(lines, ["loop threw", "dispatch threw", "next 1", "exited"]);
    }
}
