//! Receive steering: settings agree with ethtool(8), frames arrive in the selected queues, and a capture restores the
//! settings. Uses a device with hashes and rules (`lab/driver`).

use std::net::Ipv4Addr;
use std::process::Command;

use tapline::capture::{
    Backend, Capture, CaptureErrorKind, CaptureOptions, DirectionFilter, FileConsumer,
    ParallelCapture, ReaderOptions,
};
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::packet::{MacAddress, build::Frame};
use tapline::steering::{
    LeftoverSetting, RestoreOutcome, Setting, SteeringDevice, SteeringError, restore_leftovers,
};
use tapline_lab::generator::send_frames;
use tapline_lab::{Host, rerun};

use crate::VM;
use crate::witness::value_printed;

const LINK: &str = "stamp0";

/// The key of the verification suite of "Verifying the RSS Hash Calculation", Microsoft.
const KEY: &str = "6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0:d0:ca:2b:cb:ae:7b:30:b4:77:cb:2d:a3:80:30:f2:0c:\
                   6a:42:b7:3b:be:ac:01:fa";

/// An address and a port.
type Endpoint = ([u8; 4], u16);

/// Its flows: source, destination, and the hash of addresses and ports.
const FLOWS: [(Endpoint, Endpoint, u32); 5] = [
    (
        ([66, 9, 149, 187], 2794),
        ([161, 142, 100, 80], 1766),
        0x51cc_c178,
    ),
    (
        ([199, 92, 111, 2], 14230),
        ([65, 69, 140, 83], 4739),
        0xc626_b0ea,
    ),
    (
        ([24, 19, 198, 95], 12898),
        ([12, 22, 207, 184], 38024),
        0x5c2b_394a,
    ),
    (
        ([38, 27, 205, 30], 48228),
        ([209, 142, 163, 6], 2217),
        0xafc7_327f,
    ),
    (
        ([153, 39, 163, 191], 44251),
        ([202, 188, 127, 2], 1303),
        0x10e8_28a2,
    ),
];

fn host() -> Host {
    let host = Host::new("host");
    host.ip(&format!("link add {LINK} type tapstamp"));
    host.ip(&format!("link set {LINK} up"));
    host
}

fn settings(words: &[&str]) -> Vec<Setting> {
    let parsed = words
        .iter()
        .map(|words| Setting::parse(words).expect(words));
    parsed.flatten().collect()
}

fn set(host: &Host, words: &str) -> Result<(), SteeringError> {
    host.run(|| {
        let mut device = SteeringDevice::open(LINK)?;
        for setting in settings(&[words]) {
            device.set(&setting)?;
        }
        Ok(())
    })
}

/// What is in the place of a setting.
fn present(host: &Host, words: &str) -> Option<String> {
    let [setting] = &settings(&[words])[..] else {
        panic!("{words}");
    };
    let present = host.run(|| SteeringDevice::open(LINK)?.present(setting));
    present.expect(words).map(|setting| setting.to_string())
}

/// The queues of the indirection table, as ethtool(8) shows them.
fn table(host: &Host) -> Vec<u32> {
    let text = host.output_of(&format!("ethtool -x {LINK}"));
    let rows = text.lines().skip(1).map_while(|line| line.split_once(':'));
    let rows = rows.take_while(|(at, _)| at.trim().parse::<u32>().is_ok());
    rows.flat_map(|(_, queues)| queues.split_whitespace())
        .map(|queue| queue.parse().expect("a queue"))
        .collect()
}

/// The line behind `title` in what ethtool(8) shows of the hash.
fn below(host: &Host, title: &str) -> String {
    let text = host.output_of(&format!("ethtool -x {LINK}"));
    let mut lines = text.lines().skip_while(|line| line.trim() != title);
    lines.nth(1).expect(title).trim().to_owned()
}

fn options() -> CaptureOptions {
    tapline::capture(LINK)
        .backend(Backend::PacketV3)
        .direction(DirectionFilter::In)
}

fn open(host: &Host, options: CaptureOptions) -> Capture {
    host.run(|| options.open()).expect("a capture")
}

#[test]
fn what_is_set_is_what_ethtool_shows_and_the_other_way_round() {
    if VM.has_run() {
        return;
    }
    let host = host();
    let ethtool = |words: &str| host.output_of(&format!("ethtool {words}"));
    let printed =
        |option: &str, key: &str| value_printed(&host, &format!("ethtool {option} {LINK}"), key);

    set(&host, "channels combined 3").expect("set");
    assert_eq!(printed("-l", "Combined"), "3");
    ethtool(&format!("-L {LINK} combined 4"));
    assert_eq!(
        present(&host, "channels combined 1").as_deref(),
        Some("channels combined 4")
    );

    set(&host, "rings rx 1024").expect("set");
    assert_eq!(printed("-g", "RX"), "1024");
    ethtool(&format!("-G {LINK} rx 256"));
    assert_eq!(
        present(&host, "rings rx 1").as_deref(),
        Some("rings rx 256")
    );

    set(&host, "coalesce rx-usecs 30").expect("set");
    assert_eq!(printed("-c", "rx-usecs"), "30");
    ethtool(&format!("-C {LINK} rx-usecs 7"));
    assert_eq!(
        present(&host, "coalesce rx-usecs 1").as_deref(),
        Some("coalesce rx-usecs 7")
    );

    set(&host, "features rx-hashing off").expect("set");
    assert_eq!(printed("-k", "receive-hashing"), "off");
    ethtool(&format!("-K {LINK} rxhash on"));
    let hashing = present(&host, "features rx-hashing off");
    assert_eq!(hashing.as_deref(), Some("features rx-hashing on"));

    // The same words make the same table.
    for words in [
        "equal 3",
        "weight 3 1",
        "weight 0 1 0 5",
        "weight 1 1 1 1",
        "default",
    ] {
        ethtool(&format!("-X {LINK} {words}"));
        let of_ethtool = table(&host);
        assert_eq!(of_ethtool.len(), 128);
        ethtool(&format!("-X {LINK} equal 1"));
        set(&host, &format!("rss {words}")).expect("set");
        assert_eq!(table(&host), of_ethtool, "{words}");
        let list: Vec<_> = of_ethtool.iter().map(u32::to_string).collect();
        let shown = format!("rss table {}", list.join(","));
        assert_eq!(present(&host, "rss default"), Some(shown));
    }

    set(&host, &format!("rss hkey {KEY}")).expect("set");
    assert_eq!(below(&host, "RSS hash key:"), KEY);
    ethtool(&format!("-X {LINK} hkey {}", KEY.replace("6d", "00")));
    let shown = format!("rss hkey {}", KEY.replace("6d", "00"));
    assert_eq!(present(&host, "rss hkey 0"), Some(shown));
    assert_eq!(
        present(&host, "rss hfunc xor").as_deref(),
        Some("rss hfunc toeplitz")
    );
    assert_eq!(below(&host, "RSS hash function:"), "toeplitz: on");

    set(&host, "rss rx-flow-hash udp4 sdfn").expect("set");
    let shown = ethtool(&format!("-n {LINK} rx-flow-hash udp4"));
    for field in ["IP SA", "IP DA", "L4 bytes 0 & 1", "L4 bytes 2 & 3"] {
        assert!(shown.contains(field), "{shown}");
    }
    ethtool(&format!("-N {LINK} rx-flow-hash udp4 sd"));
    let fields = present(&host, "rss rx-flow-hash udp4 n");
    assert_eq!(fields.as_deref(), Some("rss rx-flow-hash udp4 sd"));
}

#[test]
fn rules_are_those_of_ethtool() {
    if VM.has_run() {
        return;
    }
    let host = host();
    let ethtool = |words: &str| host.output_of(&format!("ethtool {words}"));
    set(&host, "features rx-ntuple-filter on").expect("set");
    let rules = || {
        let rules = host.run(|| SteeringDevice::open(LINK)?.rules());
        let rules = rules.expect("rules").expect("the driver has rules");
        rules.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    ethtool(&format!(
        "-N {LINK} flow-type udp4 src-ip 10.1.0.0 m 0.0.255.255 dst-port 4789 action 2 loc 3"
    ));
    ethtool(&format!(
        "-N {LINK} flow-type tcp4 dst-ip 10.0.0.9 src-port 53 action -1 loc 1"
    ));
    assert_eq!(
        rules(),
        [
            "flow-type tcp4 dst-ip 10.0.0.9 src-port 53 action -1 loc 1",
            "flow-type udp4 src-ip 10.1.0.0/16 dst-port 4789 action 2 loc 3",
        ]
    );
    let shown = ethtool(&format!("-n {LINK}"));
    for loc in [1, 3] {
        ethtool(&format!("-N {LINK} delete {loc}"));
    }
    for rule in [
        "ntuple flow-type tcp4 dst-ip 10.0.0.9 src-port 53 action -1 loc 1",
        "ntuple flow-type udp4 src-ip 10.1.0.0/16 dst-port 4789 action 2 loc 3",
    ] {
        set(&host, rule).expect("set");
    }
    assert_eq!(ethtool(&format!("-n {LINK}")), shown);

    // Without a number, a rule gets the last free place.
    set(&host, "ntuple flow-type udp4 dst-port 1 action 0").expect("set");
    assert_eq!(rules()[2], "flow-type udp4 dst-port 1 action 0 loc 7");
    let refused = set(&host, "ntuple flow-type udp6 dst-port 1 action 0").expect_err("unknown");
    assert_eq!(refused.to_string(), "cannot add flow rules of link stamp0");
}

/// Captures one frame of each flow, and returns how many each queue received.
fn queues(host: &Host, options: CaptureOptions, frames: &[Vec<u8>]) -> Vec<(u32, u64)> {
    let options = options.packets(frames.len() as u64);
    let opened = host.run(|| ParallelCapture::open(options, &ReaderOptions::default()));
    let capture = opened.expect("a capture");
    let folder = tempfile::tempdir().expect("a folder");
    let output = Output::Path(folder.path().join("file.pcapng"));
    let file = CaptureFileOptions::new(output, capture.interfaces().to_vec());
    let file = CaptureFile::create(file, 0).expect("a file");
    let mut consumer = FileConsumer::new(file, std::time::Duration::ZERO);
    let stop = tapline::Stop::new().expect("a stop");
    let link = host.netlink().link_named(LINK).expect("the device");
    host.run(|| send_frames(link.ifindex(), frames))
        .expect("frames are sent");
    let summary = capture.run_file(&mut consumer, &stop).expect("captured");
    let readers = summary.readers.iter();
    let mut queues: Vec<_> = readers
        .map(|reader| (reader.queue.expect("a queue"), reader.account.delivered))
        .collect();
    queues.sort_unstable();
    queues
}

#[test]
fn frames_arrive_in_the_queues_that_a_captures_settings_choose() {
    if VM.has_run() {
        return;
    }
    let host = host();
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let frames = FLOWS.map(|((source, from), (destination, to), _)| {
        Frame::ethernet(mac, mac)
            .ipv4(Ipv4Addr::from(source), Ipv4Addr::from(destination))
            .udp(from, to)
            .payload(b"steered")
    });
    let count = |of_flow: &dyn Fn(u32) -> u32, queues: u32| -> Vec<(u32, u64)> {
        let of_queue = |queue| FLOWS.iter().filter(|flow| of_flow(flow.2) == queue).count();
        (0..queues)
            .map(|queue| (queue, of_queue(queue) as u64))
            .collect()
    };
    let before = host.output_of(&format!("ethtool -x {LINK}"));
    let hashed = ["rss rx-flow-hash udp4 sdfn", &format!("rss hkey {KEY}")];

    // The entry of a table with 128 is the low 7 bits of the hash.
    let by_hash = settings(&[&hashed[..], &["rss equal 3"]].concat());
    let arrived = queues(&host, options().steering(by_hash), &frames);
    assert_eq!(arrived, count(&|hash| hash % 128 % 3, 4));

    let fewer = settings(&[&hashed[..], &["channels combined 2"]].concat());
    let arrived = queues(&host, options().steering(fewer), &frames);
    assert_eq!(arrived, count(&|hash| hash % 128 % 2, 2));

    // Rules come before the hash; it does not matter in which order settings are given.
    let rules = settings(&[
        "ntuple flow-type udp4 dst-port 1766 action 3",
        "ntuple flow-type udp4 src-ip 199.92.0.0/16 action 3",
        hashed[0],
        hashed[1],
        "rss equal 1",
        "features rx-ntuple-filter on",
    ]);
    let arrived = queues(&host, options().steering(rules), &frames);
    assert_eq!(arrived, [(0, 3), (1, 0), (2, 0), (3, 2)]);

    assert_eq!(host.output_of(&format!("ethtool -x {LINK}")), before);
    let fields = present(&host, "rss rx-flow-hash udp4 n");
    assert_eq!(fields.as_deref(), Some("rss rx-flow-hash udp4 sd"));
    let channels = present(&host, "channels combined 1");
    assert_eq!(channels.as_deref(), Some("channels combined 4"));
    let rule = present(&host, "ntuple flow-type udp4 dst-port 1766 action 3");
    assert_eq!(rule, None);
}

#[test]
fn the_last_capture_restores_a_setting_unless_somebody_changed_it() {
    if VM.has_run() {
        return;
    }
    let host = host();
    let wanted = |combined: u32| {
        options().steering(settings(&[
            &format!("channels combined {combined}"),
            "features rx-ntuple-filter on",
            "ntuple flow-type udp4 dst-port 7 action 0",
        ]))
    };
    let now = || {
        [
            present(&host, "channels combined 1").expect("it is there"),
            present(&host, "features rx-ntuple-filter on").expect("it is there"),
            present(&host, "ntuple flow-type udp4 dst-port 7 action 0").unwrap_or_default(),
        ]
    };
    let before = now();
    let first = open(&host, wanted(2));
    let second = open(&host, wanted(2));
    let third = open(&host, wanted(1));
    drop(first);
    drop(second);
    let rule = "ntuple flow-type udp4 dst-port 7 action 0 loc 7";
    assert_eq!(
        now(),
        ["channels combined 1", "features rx-ntuple-filter on", rule]
    );
    drop(third);
    assert_eq!(now(), before);
    assert_eq!(before[2], "");

    // Settings that are so already, and those that others change, stay.
    set(&host, "rss equal 2").expect("set");
    let capture = open(
        &host,
        options().steering(settings(&["rss equal 2", "rings rx 64"])),
    );
    set(&host, "rings rx 32").expect("set");
    drop(capture);
    assert_eq!(present(&host, "rings rx 1").as_deref(), Some("rings rx 32"));
    assert_eq!(table(&host).iter().max(), Some(&1));

    // What fails leaves nothing behind.
    let wrong = settings(&["rings rx 64", "ntuple flow-type udp4 dst-port 7 action 9"]);
    let refused = host.run(|| options().steering(wrong).open().map(drop));
    // The feature is off.
    assert_eq!(
        refused.expect_err("no rules").kind(),
        CaptureErrorKind::Unsupported
    );
    assert_eq!(present(&host, "rings rx 1").as_deref(), Some("rings rx 32"));
    assert!(host.run(restore_leftovers).expect("undone").is_empty());
}

/// A process that cannot restore anything any more.
const KILLED: &str = "TAPLINE_LAB_KILLED";

#[test]
fn settings_of_a_killed_capture_are_restored_later() {
    if VM.has_run() {
        return;
    }
    let wanted = || {
        options().steering(settings(&[
            "channels combined 2",
            "features rx-ntuple-filter on",
            "ntuple flow-type udp4 dst-port 7 action 1",
        ]))
    };
    if std::env::var_os(KILLED).is_some() {
        // In the host's namespace already.
        let _capture = wanted().open().expect("a capture");
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .expect("killed");
    }
    let host = host();
    let words = [
        "ntuple flow-type udp4 dst-port 7 action 1",
        "channels combined 1",
        "features rx-ntuple-filter on",
    ];
    let now = || words.map(|words| present(&host, words));
    let before = now();
    let kill = || {
        let mut command: Command = host.command(rerun::program().to_str().expect("a path"));
        let status = command.args(rerun::arguments()).env(KILLED, "1").status();
        assert!(!status.expect("it ran").success());
        assert_eq!(now()[1].as_deref(), Some("channels combined 2"));
    };
    kill();
    let undone = host.run(restore_leftovers).expect("undone");
    let commands: Vec<_> = undone.iter().map(LeftoverSetting::command).collect();
    assert_eq!(
        commands,
        [
            "tapline ethtool set stamp0 ntuple delete 7",
            "tapline ethtool set stamp0 channels combined 4",
            "tapline ethtool set stamp0 features rx-ntuple-filter off",
        ]
    );
    assert!(
        undone
            .iter()
            .all(|one| matches!(one.restored, RestoreOutcome::Done)),
        "{undone:?}"
    );
    assert_eq!(now(), before);
    assert!(host.run(restore_leftovers).expect("undone").is_empty());

    // The next capture takes the records over.
    kill();
    drop(open(&host, wanted()));
    assert_eq!(now(), before);
    assert!(host.run(restore_leftovers).expect("undone").is_empty());
}
