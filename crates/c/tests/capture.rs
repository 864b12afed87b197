//! Captures of C and C++ programs on test hosts: what they print is what was sent.

use lab::Net;
use lab::generator::udp_frame;

use crate::support::{compile, hex, start};

/// UDP frames of different lengths, and as many that are not IPv4.
fn frames(count: usize) -> [Vec<Vec<u8>>; 2] {
    let udp = (0..count).map(|number| {
        let mut frame = udp_frame(60 + 3 * number);
        let last = frame.len() - 4;
        frame[last..].copy_from_slice(&(number as u32).to_be_bytes());
        frame
    });
    let other = (0..count).map(|_| {
        let mut frame = vec![0; 60];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
        frame
    });
    [udp.collect(), other.collect()]
}

#[track_caller]
fn receives_what_was_sent(compiler: &str, source: &str, flags: &[&str]) {
    let [left, right] = Net::new().pair();
    let program = compile(compiler, source, flags);
    let [wanted, other] = frames(200);
    let name = right.interface().name.to_string();
    let before = right.counters();
    let mut running = start(&right, &program, &[&name, "udp", "200"]);
    running.ready();
    left.send(
        wanted
            .iter()
            .zip(&other)
            .flat_map(|(wanted, other)| [other, wanted]),
    );
    let printed = running.finish();
    let arrived = right.counters().rx_packets - before.rx_packets;
    assert_eq!(arrived, 400, "the kernel counts what was sent");
    let expected = wanted
        .iter()
        .map(|frame| format!("{} {}", frame.len(), hex(frame)));
    assert_eq!(printed[..200], expected.collect::<Vec<_>>());
    let bytes: usize = wanted.iter().map(Vec::len).sum();
    let account = format!("400 received, 200 delivered, {bytes} bytes, 200 filtered, 0 lost");
    assert_eq!(printed[200..], [account]);
}

#[test]
fn a_c_program_receives_what_was_sent() {
    receives_what_was_sent("gcc", "tests/programs/capture.c", &[]);
}

#[test]
fn a_cpp_program_receives_what_was_sent() {
    receives_what_was_sent("g++", "tests/programs/capture.cpp", &[]);
}

#[test]
fn sanitizers_find_nothing_in_a_capture() {
    for (compiler, source) in [
        ("gcc", "tests/programs/capture.c"),
        ("g++", "tests/programs/capture.cpp"),
    ] {
        receives_what_was_sent(compiler, source, &["-fsanitize=address,undefined"]);
    }
}

#[test]
fn no_packet_costs_an_allocation() {
    let [left, right] = Net::new().pair();
    let program = compile("gcc", "tests/programs/allocation.c", &[]);
    let name = right.interface().name.to_string();
    let mut running = start(&right, &program, &[&name, "5000"]);
    running.ready();
    left.send((0..5000).map(|_| udp_frame(60)));
    assert_eq!(running.finish(), ["5000 packets, 0 allocations"]);
}

#[test]
fn headers_are_clean_with_clang() {
    for (compiler, extension) in [("clang", "c"), ("clang++", "cpp")] {
        for example in ["capture", "count", "filter", "ping", "send"] {
            let source = format!("examples/{example}.{extension}");
            compile(
                compiler,
                &source,
                &["-fsyntax-only", "-Wno-unused-command-line-argument"],
            );
        }
    }
}
