//! Captures of C and C++ programs on test hosts: what they print is what was sent, checkers find no wrong use of memory,
//! and no packet costs an allocation.

use lab::generator::udp_frame;
use lab::{Host, Net};

use crate::support::{CHECKERS, Checker, LANGUAGES, Running, hex, sanitized, twins};

/// UDP frames of different lengths, some of which have a VLAN tag, and as many that are not IPv4.
fn frames(count: usize) -> [Vec<Vec<u8>>; 2] {
    let udp = (0..count).map(|number| {
        let mut frame = udp_frame(60 + 3 * number);
        let last = frame.len() - 4;
        frame[last..].copy_from_slice(&(number as u32).to_be_bytes());
        // The kernel moves the tag to the header of the ring.
        if number % 10 < 2 {
            frame.splice(12..12, [0x81, 0, 0, 7]);
        }
        frame
    });
    let other = (0..count).map(|_| {
        let mut frame = vec![0; 60];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
        frame
    });
    [udp.collect(), other.collect()]
}

/// The program's next capture, on the interface of `right`.
#[track_caller]
fn receives_what_was_sent(running: &mut Running, left: &Host, right: &Host) {
    let [wanted, other] = frames(200);
    running.ready();
    let before = right.counters();
    left.send(
        wanted
            .iter()
            .zip(&other)
            .flat_map(|(wanted, other)| [other, wanted]),
    );
    let expected = wanted
        .iter()
        .map(|frame| format!("{} {}", frame.len(), hex(frame)));
    let printed = (0..200).map(|_| running.line());
    assert_eq!(printed.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let bytes: usize = wanted.iter().map(Vec::len).sum();
    let account = format!("400 received, 200 delivered, {bytes} bytes, 200 filtered, 0 lost");
    assert_eq!(running.line(), account);
    let arrived = right.counters().rx_packets - before.rx_packets;
    assert_eq!(arrived, 400, "the kernel counts what was sent");
}

#[test]
fn programs_receive_what_was_sent() {
    let ways = ["arrays", "blocks", "frames"];
    for program in twins("tests/programs/capture") {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let arguments = [&[name.as_str(), "udp", "200"][..], &ways].concat();
        let mut running = program.start(&right, &arguments);
        for _ in ways {
            receives_what_was_sent(&mut running, &left, &right);
        }
        assert!(running.finish().is_empty());
    }
}

#[test]
fn a_cursor_takes_no_packet_outside_its_block_or_frame() {
    for checker in CHECKERS {
        let program = checker.program("tests/programs/cursor.c", &[]);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.pcapng");
        let path = path.to_str().expect("text");
        let host = Host::new("alone");
        assert_eq!(program.start(&host, &[path]).finish(), ["done"]);
        let counted = host.output_of(&format!("tcpdump --count -nr {path}"));
        assert!(counted.starts_with("202 packets"), "{counted}");
    }
}

/// The program also asserts that temporary objects lend nothing. With GCC only: clang does not compile the views of its library.
#[test]
fn views_take_as_many_packets_as_they_give_copies_stay_and_filters_know_the_length() {
    let program = Checker::Valgrind.program("tests/programs/packets.cpp", &[]);
    let host = Host::new("alone");
    assert_eq!(
        program.start(&host, &[]).finish(),
        ["done", "copied", "long", "kept", "refused"]
    );
}

#[test]
fn no_packet_costs_an_allocation() {
    for extension in LANGUAGES {
        // AddressSanitizer tells the program of each allocation.
        let source = format!("tests/programs/allocation.{extension}");
        let program = sanitized(&source);
        for form in ["arrays", "cursor"] {
            let [left, right] = Net::new().pair();
            let name = right.interface().name.to_string();
            let mut running = program.start(&right, &[&name, "5000", form]);
            running.ready();
            left.send((0..5000).map(|_| udp_frame(60)));
            let printed = running.finish().concat();
            let allocations = printed.strip_prefix("5000 packets, ");
            let allocations = allocations.and_then(|rest| rest.strip_suffix(" allocations"));
            let allocations: usize = allocations
                .and_then(|count| count.parse().ok())
                .expect(&printed);
            // The first exchange with the thread that reads counters, once a second, allocates once.
            assert!(allocations <= 3, "{form}: {printed}");
        }
    }
}

#[test]
fn files_and_filters_allocate_for_no_batch() {
    let program = sanitized("tests/programs/allocation_files.c");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.pcapng");
    let path = path.to_str().expect("text");
    let host = Host::new("alone");
    let printed = program.start(&host, &[path]).finish();
    assert_eq!(printed, ["written: 0", "read: 0"]);
    let counted = host.output_of(&format!("tcpdump --count -nr {path}"));
    assert!(counted.starts_with("8192 packets"), "{counted}");
}
