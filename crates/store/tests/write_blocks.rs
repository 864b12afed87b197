//! Section, interfaces and statistics, as read by Wireshark's programs.

use crate::write_support::*;
use tapline_store::model::{Interface, LinkType, Packet, Statistics};
use tapline_store::write::CaptureFile;

#[test]
fn section_interfaces_and_statistics_say_all_they_know() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let mut options = options(&path);
    options.section.hardware = Some("a machine".into());
    options.section.os = Some("Linux 6.18".into());
    options.section.comment = Some("two comments".into());
    options.interfaces = vec![Interface {
        name: Some("left0".into()),
        description: Some("to the left".into()),
        filter: Some("tcp port 80".into()),
        os: Some("Linux".into()),
        hardware: Some("veth".into()),
        speed_bps: Some(10_000_000_000),
        mac: Some([2, 0, 0, 0, 0, 9]),
        comment: Some("a word on left0".into()),
        ..Interface::new(LinkType::ETHERNET, 96)
    }];
    let mut file = CaptureFile::create(options, 0).unwrap();
    write_frames(&mut file, QUARTER_PAST, 3, 60);
    let second = Interface {
        name: Some("second".into()),
        ..Interface::new(LinkType::RAW, 0)
    };
    assert_eq!(file.add_interface(second).unwrap(), 1);
    let bytes = frame(9, 20);
    file.write(&Packet {
        interface: 1,
        ..Packet::new(QUARTER_PAST, &bytes)
    })
    .unwrap();
    // Statistics of an interface the file does not have would make it invalid.
    let unknown = Statistics {
        interface: 2,
        ..statistics(2)
    };
    file.close(&[
        statistics(0),
        Statistics {
            interface: 1,
            ..Statistics::default()
        },
        unknown,
    ])
    .unwrap();

    let text = structure(&path);
    for expected in [
        "a machine",
        "Linux 6.18",
        concat!("tapline ", env!("CARGO_PKG_VERSION")),
        "two comments",
        "a word on left0",
        "left0",
        "to the left",
        "tcp port 80",
        "veth",
        "10000000000",
        "02:00:00:00:00:09",
        "second",
        "all accounted for",
        "1000001",
        "1000002",
        "1000003",
        "1000004",
        "1099511627781",
        "Nov 21, 2026 07:15:00.000000000 UTC",
        "Nov 21, 2026 07:15:00.000000004 UTC",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    // That dissector shows the two times without their values: code, length, upper half, lower half.
    let octets = std::fs::read(&path).unwrap();
    for (code, time) in [(2, QUARTER_PAST), (3, QUARTER_PAST + 3)] {
        let words = [8 << 16 | code, (time >> 32) as u32, time as u32].map(u32::to_le_bytes);
        assert!(
            octets
                .windows(12)
                .any(|window| window == words.as_flattened())
        );
    }
    assert_eq!(
        text.matches("Block: Interface Statistics Block").count(),
        2,
        "{text}"
    );
    assert!(!text.contains("Expert Info"), "{text}");

    let text = run("capinfos", [path.as_os_str()]);
    for expected in [
        "Capture hardware:    a machine",
        "Capture comment:     two comments",
        "Name = left0",
        "Hardware = veth",
        "Speed = 10000000000",
        "Time precision = nanoseconds (9)",
        "Filter string = tcp port 80",
        "Capture length = 96",
        "Name = second",
        "Number of stat entries = 1",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    let rows = tshark(&path, &["frame.interface_name"]);
    assert_eq!(rows.concat(), ["left0", "left0", "left0", "second"]);
}

#[test]
fn a_long_text_is_cut_at_a_whole_character() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let mut options = options(&path);
    let long = "é".repeat(40_000);
    options.interfaces[0].filter = Some(long.clone());
    options.interfaces[0].description = Some(long);
    let mut file = CaptureFile::create(options, 0).unwrap();
    write_frames(&mut file, QUARTER_PAST, 1, 60);
    file.close(&[]).unwrap();
    assert_eq!(count(&path), 1);
    let text = run("capinfos", [path.as_os_str()]);
    let line = text
        .lines()
        .find(|line| line.contains("Filter string"))
        .expect("a filter");
    assert_eq!(line.chars().filter(|&letter| letter == 'é').count(), 32_767);
}
