//! `tapline index` and `read --index`: the same packets as without the index, with few bytes read.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;
use wire::MacAddress;
use wire::build::Frame;

use crate::support::files::{column, count_by_tcpdump, pcap_of};
use crate::support::run::{events, printed, run};
use crate::support::{assert_refused, text};

/// A file from the generator, with packets of 1000 flows of 10.1.NETWORK.1.
fn capture(folder: &tempfile::TempDir, name: &str, network: u8, packets: u32) -> String {
    let file = text(&folder.path().join(name));
    let addresses = format!("--src 10.1.{network}.1-10.1.{network}.250 --dst 10.9.0.1-10.9.0.4");
    let ports = "--sport 1024-9000 --dport 443";
    run(&format!(
        "send --udp {addresses} {ports} --flows 1000 --size 1000 -c {packets} -w {file}"
    ))
    .exit(0);
    file
}

/// The summary of `read --index`.
#[track_caller]
fn read(files: &str, question: &str) -> Value {
    events(&format!("read --index {files} -q {question}"))
        .pop()
        .expect("a summary")
}

#[test]
fn a_flow_is_found_by_reading_little_of_many_files() {
    let folder = tempfile::tempdir().expect("a folder");
    // The second is larger than an extent.
    let files: Vec<String> = (0..6)
        .map(|network| {
            let packets = if network == 1 { 9000 } else { 1000 };
            capture(&folder, &format!("{network}.pcapng"), network, packets)
        })
        .collect();
    let all = files.join(" ");
    let lines = printed(&format!("index {all}"));
    assert_eq!(lines.len(), 6);
    for file in &files {
        let (bytes, index) = (fs::metadata(file), fs::metadata(format!("{file}.index")));
        let (bytes, index) = (
            bytes.expect("a file").len(),
            index.expect("its index").len(),
        );
        assert!(index <= (bytes / 400).max(4096), "{index} of {bytes}");
    }
    // tcpdump is the oracle.
    let found = |question: &str| {
        files
            .iter()
            .map(|file| count_by_tcpdump(file, question))
            .sum::<u64>()
    };
    for question in [
        "host 10.1.3.7",
        "src host 10.1.1.9 and udp port 443",
        "host 10.1.4.1 or host 10.1.5.2",
        "udp port 443 and net 10.1.2.0/24",
        "not host 10.9.0.1",
        "host 192.0.2.1",
    ] {
        let summary = read(&all, &format!("'{question}'"));
        assert_eq!(summary["delivered"], found(question), "{question}");
    }
    let of_third = column::<String>(&files[3], "ip.src").remove(0);
    let of_third = format!("host {of_third}");
    let used = &read(&all, &format!("'{of_third}'"))["index"];
    let third = fs::metadata(&files[3]).expect("a file").len();
    assert_eq!(used["selected_bytes"], third, "{used}");
    assert_eq!(
        (&used["skipped"], &used["without_index"]),
        (&5.into(), &0.into())
    );
    // A copy has the interface of the file that was read, and no other.
    let copy = text(&folder.path().join("copy.pcapng"));
    let line = format!("read --index {all} -w {copy} '{of_third}'");
    run(&line).exit(0);
    let copied = events(&format!("read --summary {copy}")).remove(0);
    assert_eq!(copied["interfaces"].as_array().map(Vec::len), Some(1));
    assert_eq!(count_by_tcpdump(&copy, ""), found(&of_third));
    assert!(found(&of_third) > 0);
}

/// The finalizer of MurmurHash3, of which the hashes of an index are made, and its inverse.
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ value >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ value >> 33
}

fn unmix(value: u64) -> u64 {
    // Newton's method doubles the number of right bits: 3, 6, 12, 24, 48, 96.
    let inverse = |odd: u64| {
        (0..5).fold(odd, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
        })
    };
    let value = (value ^ value >> 33).wrapping_mul(inverse(0xc4ce_b9fe_1a85_ec53));
    let value = (value ^ value >> 33).wrapping_mul(inverse(0xff51_afd7_ed55_8ccd));
    value ^ value >> 33
}

#[test]
fn a_flow_with_the_hash_of_another_one_does_not_hide_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = |high: u64, hash: u64| {
        let low = mix(high ^ 6) ^ hash;
        Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))
    };
    let hash_of_ports = |low: u64, high: u64| mix(2 << 32 | low << 16 | high);
    let flow_hash = |[one, other]: [u64; 2], ports: u64| mix(one).wrapping_add(mix(other)) ^ ports;
    let [first, second, third] = [0x2001_0db8, 0x2001_0db9, 0x2001_0dba].map(|high| high << 32);
    let wanted = flow_hash([11, 12], hash_of_ports(53, 1000));
    let ports = hash_of_ports(80, 2000);
    let crafted = unmix((wanted ^ ports).wrapping_sub(mix(13)));
    assert_eq!(flow_hash([13, crafted], ports), wanted);
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let datagram = |[from, to]: [Ipv6Addr; 2], ports: [u16; 2]| {
        let frame = Frame::ethernet(mac, mac).ipv6(from, to);
        frame.udp(ports[0], ports[1]).payload(b"hello")
    };
    let known = datagram([address(first, 11), address(second, 12)], [1000, 53]);
    let hidden = [address(third, 13), address(third, crafted)];
    let hidden_frame = datagram(hidden, [2000, 80]);
    let file = text(&folder.path().join("two.pcap"));
    fs::write(&file, pcap_of([(1, known), (2, hidden_frame)])).expect("a file");
    run(&format!("index -q {file}")).exit(0);
    for question in [
        format!("host {}", hidden[0]),
        format!("host {}", hidden[1]),
        "port 2000".to_owned(),
        format!(
            "host {} and host {} and port 80 and port 2000",
            hidden[0], hidden[1]
        ),
    ] {
        let summary = read(&file, &format!("'{question}'"));
        assert_eq!(summary["delivered"], 1, "{question}");
        assert_eq!(count_by_tcpdump(&file, &question), 1, "{question}");
    }
}

/// A filter that no packet of the file that is read could pass, and some packets of the skipped one.
#[test]
fn a_skipped_file_may_have_what_a_filter_is_about() {
    let folder = tempfile::tempdir().expect("a folder");
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let [from, to] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
    let frame = Frame::ethernet(mac, mac).ipv4(from, to).udp(1000, 53);
    let frame = frame.payload(b"hello");
    let ethernet = text(&folder.path().join("ethernet.pcap"));
    fs::write(&ethernet, pcap_of([(1, frame.clone())])).expect("a file");
    // LINKTYPE_RAW has no ARP.
    let mut bytes = pcap_of([(1, frame[14..].to_vec())]);
    bytes[20] = 101;
    let raw = text(&folder.path().join("raw.pcap"));
    fs::write(&raw, bytes).expect("a file");
    run(&format!("index -q {ethernet} {raw}")).exit(0);
    for flag in ["", "--index"] {
        let line = format!("read {flag} {ethernet} {raw} -q 'arp host 192.0.2.1'");
        let summary = events(&line).pop().expect("a summary");
        assert_eq!(summary["delivered"], 0, "{flag}");
    }
    run(&format!("read --index {raw} -q 'arp host 192.0.2.1'")).exit(2);
}

#[test]
fn times_select_parts_of_a_file_and_what_was_appended_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = capture(&folder, "one.pcapng", 1, 12_000);
    run(&format!("index -q {file}")).exit(0);
    let spans = |line: &str| read(&file, line);
    // The generator's times are those of the rate: all at one moment here, and none later.
    let none = spans("--from @4000000000");
    assert_eq!(none["delivered"], 0);
    assert!(
        none["index"]["selected_bytes"].as_u64() < Some(2000),
        "{none}"
    );
    // A further section, as a capture that goes on would write.
    let more = fs::read(capture(&folder, "more.pcapng", 2, 10)).expect("a file");
    let mut appended = fs::OpenOptions::new()
        .append(true)
        .open(&file)
        .expect("a file");
    appended.write_all(&more).expect("appended");
    let summary = read(&file, "'net 10.1.2.0/24'");
    assert_eq!(summary["delivered"], 10);
    let again = events(&format!("index {file}")).remove(0);
    assert_eq!(
        (&again["is_new"], &again["packets"]),
        (&true.into(), &12_010.into())
    );
    assert!(printed(&format!("index {file}")).remove(0).contains("kept"));
}

#[test]
fn damaged_stale_and_impossible_indexes_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = capture(&folder, "one.pcapng", 1, 1000);
    let index = format!("{file}.index");
    run(&format!("index -q {file}")).exit(0);
    let whole = fs::read(&index).expect("the index");
    let question = format!("read --index {file} 'host 10.1.1.1'");
    let write = |bytes: &[u8]| fs::write(&index, bytes).expect("written");
    for at in [0, 7, 30, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        write(&changed);
        let text = if at < 8 {
            "not an index of this version"
        } else {
            "it is damaged"
        };
        assert_refused(run, &[(&question, 1, text)]);
    }
    write(b"no index");
    assert_refused(run, &[(&question, 1, "not an index of this version")]);
    // An index that ends early is that of a capture that was killed: the rest is read without it.
    for end in [whole.len() / 2, 8, 5, 0] {
        write(&whole[..end]);
        let summary = read(&file, "'host 10.1.1.1'");
        assert_eq!(
            summary["delivered"],
            count_by_tcpdump(&file, "host 10.1.1.1")
        );
        assert_eq!(summary["index"]["without_index"], u64::from(end < 8));
    }
    assert_eq!(events(&format!("index {file}")).remove(0)["is_new"], true);
    assert!(fs::read(&index).expect("the index") == whole);
    write(&whole);
    capture(&folder, "one.pcapng", 2, 1000);
    assert_refused(
        run,
        &[(&question, 1, "the capture has changed since it was indexed")],
    );
    fs::remove_file(&index).expect("removed");
    let summary = read(&file, "'host 10.1.1.1'");
    assert_eq!(summary["index"]["without_index"], 1);

    let compressed = text(&folder.path().join("two.pcapng.zst"));
    run(&format!("read {file} -w {compressed} -q")).exit(0);
    let other = text(&folder.path().join("text"));
    fs::write(&other, "no capture at all").expect("a file");
    assert_refused(
        run,
        &[
            (
                &format!("index {compressed}"),
                1,
                "a compressed capture cannot be indexed",
            ),
            (&format!("index {other}"), 1, "cannot index"),
            (
                "index /nonexistent/file",
                1,
                "cannot index /nonexistent/file: No such file",
            ),
            ("index /dev/null", 1, "only a regular file can be indexed"),
            ("index", 2, "missing argument: FILE"),
        ],
    );
    assert!(!fs::exists(format!("{other}.index")).expect("it can be told"));
    // No other process may have written here: an index that cannot be written leaves nothing behind.
    fs::create_dir(&index).expect("a folder in its place");
    assert_refused(run, &[(&format!("index {file}"), 1, "Is a directory")]);
    assert!(!fs::exists(format!("{index}.part")).expect("it can be told"));
}
