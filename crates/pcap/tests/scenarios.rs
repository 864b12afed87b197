//! The same program with libpcap and with this library: it prints the same.

use std::path::PathBuf;

use lab::generator::udp_frame;
use lab::{Host, Net, wait};

use crate::support::{BOTH, Library, compile, room, start};

fn program() -> PathBuf {
    compile("scenario", &[])
}

/// What a scenario prints, if `sent` is what happens once it is ready. `device` is `any`, or the host's interface.
fn run(
    library: Library,
    name: &str,
    device: Option<&str>,
    sent: impl Fn(&Host, &Host),
) -> Vec<String> {
    let [left, right] = Net::new().pair();
    let own = right.interface().name.to_string();
    let interface = device.unwrap_or(&own).to_owned();
    let mut running = start(&right, library, &program(), &[name, &interface]);
    let mut lines = match name {
        "nonblock" | "child_breaks" => return running.finish(),
        _ => running.ready(),
    };
    let before = right.counters().rx_packets;
    sent(&left, &right);
    // Without its interface the program has ended, or will.
    if !name.starts_with("removed") {
        running.tell(right.counters().rx_packets - before);
    }
    lines.extend(running.finish());
    lines
}

#[track_caller]
fn prints_the_same(name: &str, sent: impl Fn(&Host, &Host)) -> Vec<String> {
    let [libpcap, tapline] = BOTH.map(|library| run(library, name, None, &sent));
    assert_eq!(libpcap, tapline, "{name}");
    tapline
}

/// As [`prints_the_same`], on the device `any`.
#[track_caller]
fn prints_the_same_on_any(name: &str, sent: impl Fn(&Host, &Host)) -> Vec<String> {
    let [libpcap, tapline] = BOTH.map(|library| run(library, name, Some("any"), &sent));
    assert_eq!(libpcap, tapline, "{name}");
    tapline
}

/// A UDP frame with a number, and one that is not IPv4.
fn numbered(number: u8) -> [Vec<u8>; 2] {
    let mut udp = udp_frame(60 + usize::from(number));
    *udp.last_mut().expect("bytes") = number;
    let mut other = vec![0; 60];
    other[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    [udp, other]
}

/// `count` UDP frames, each before another frame.
fn frames(count: u8) -> Vec<Vec<u8>> {
    (0..count).flat_map(numbered).collect()
}

/// `count` UDP frames.
fn udp_frames(count: u8) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| numbered(number)[0].clone())
        .collect()
}

#[test]
fn packets_that_came_before_the_filter_have_to_pass_it() {
    let lines = prints_the_same("late_filter", |left, _| left.send(frames(20)));
    assert_eq!(lines[20..], ["loop 0", "next_ex 0"]);
}

#[test]
fn dispatch_and_next_deliver_what_was_sent() {
    let lines = prints_the_same("dispatch", |left, _| left.send(udp_frames(11)));
    assert_eq!(lines.len(), 13);
    assert_eq!(lines[0], "idle 0");
}

#[test]
fn sent_packets_are_selected_by_direction() {
    let lines = prints_the_same("direction", |left, right| {
        left.send(udp_frames(5));
        right.send(frames(5).into_iter().skip(1).step_by(2));
    });
    assert_eq!(lines[..2], ["inject 60", "sendpacket 0"]);
    let sent = "60 60 02000000000202000000000188b5";
    assert!(
        lines[2..7].iter().all(|line| line.starts_with(sent)),
        "{lines:?}"
    );
    assert_eq!(lines[7..], ["loop 0", "more 0"]);
}

#[test]
fn breakloop_ends_a_loop_from_a_callback_a_thread_and_a_signal_handler() {
    let lines = prints_the_same("breakloop", |left, _| left.send(udp_frames(6)));
    assert_eq!(
        lines,
        [
            "before -2",
            "dispatch -2",
            "callback -2",
            "packets 2",
            "rest 0 4",
            "thread -2",
            "signal -2"
        ]
    );
}

#[test]
fn a_handle_survives_a_fork() {
    let lines = prints_the_same("forked", |left, _| left.send(udp_frames(10)));
    assert_eq!(lines.len(), 12);
    assert_eq!([&*lines[5], &lines[11]], ["parent 0", "child 0"]);
}

#[test]
fn a_child_that_breaks_its_loop_does_not_keep_the_parent_awake() {
    // libpcap's call does not return before a packet arrives.
    for device in [None, Some("any")] {
        let lines = run(Library::Tapline, "child_breaks", device, |_, _| ());
        assert_eq!(lines, ["dispatch 0"]);
    }
}

#[test]
fn a_thousand_handles_leave_nothing_behind() {
    let [_left, right] = Net::new().pair();
    let interface = right.interface().name.to_string();
    for device in [&*interface, "any"] {
        let running = start(&right, Library::Tapline, &program(), &["cycles", device]);
        assert_eq!(
            running.finish(),
            ["descriptors +0", "memory as before"],
            "{device}"
        );
    }
}

#[test]
fn an_interface_that_disappears_ends_the_loop_with_its_error() {
    let lines = prints_the_same("removed", |left, _| {
        let name = left.interface().name.to_string();
        left.ip(&format!("link del {name}"));
    });
    assert_eq!(lines, ["loop -1 The interface disappeared", "again 1"]);
}

#[test]
fn the_descriptor_of_an_interface_that_disappeared_is_valid_until_the_handle_is_closed() {
    let [libpcap, tapline] = BOTH.map(|library| {
        run(library, "removed_while_polling", None, |left, _| {
            let name = left.interface().name.to_string();
            left.ip(&format!("link del {name}"));
        })
    });
    let without = |lines: &[String]| {
        let lines = lines.iter().filter(|line| !line.starts_with("readable"));
        lines.cloned().collect::<Vec<_>>()
    };
    assert_eq!(without(&libpcap), without(&tapline));
    // libpcap has its program look again every millisecond.
    assert!(tapline.contains(&"readable 1".to_owned()), "{tapline:?}");
    assert_eq!(tapline[0], "dispatch -1 The interface disappeared");
}

#[test]
fn an_interface_that_goes_down_does_not_end_the_capture() {
    let [libpcap, tapline] = BOTH.map(|library| {
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let mut running = start(&right, library, &program(), &["down", &name]);
        let mut lines = running.ready();
        right.ip(&format!("link set {name} down"));
        running.tell(0);
        lines.extend(running.ready());
        right.ip(&format!("link set {name} up"));
        wait::until("the link is up", || left.link().carrier == Some(true));
        left.send(udp_frames(5));
        lines.extend(running.ready());
        right.ip(&format!("link set {name} down"));
        left.ip(&format!("link del {}", left.interface().name));
        lines.extend(running.finish());
        lines
    });
    assert_eq!(libpcap, tapline);
    assert_eq!(
        [&tapline[..3], &tapline[8..]].concat(),
        [
            "down 0",
            "down 0",
            "has to look again 1",
            "loop 0",
            "loop -1 The interface disappeared"
        ]
    );
}

#[test]
fn statistics_mean_the_same_under_loss() {
    const PACKETS: usize = 60_000;
    let send = |left: &Host, _: &Host| left.send((0..PACKETS).map(|_| udp_frame(1000)));
    let lines = prints_the_same("loss", send);
    assert_eq!(lines, ["received all", "sum right, interface 0"]);
}

#[test]
fn the_device_any_behaves_like_libpcaps() {
    let lines = prints_the_same_on_any("late_filter", |left, _| left.send(frames(20)));
    assert_eq!(lines[20..], ["loop 0", "next_ex 0"]);
    let lines = prints_the_same_on_any("dispatch", |left, _| left.send(udp_frames(11)));
    assert_eq!(lines.len(), 13);
    let lines = prints_the_same_on_any("breakloop", |left, _| left.send(udp_frames(6)));
    assert_eq!(lines[5..], ["thread -2", "signal -2"]);
    let lines = prints_the_same_on_any("forked", |left, _| left.send(udp_frames(10)));
    assert_eq!([&*lines[5], &lines[11]], ["parent 0", "child 0"]);
    let lines = prints_the_same_on_any("nonblock", |_, _| {});
    assert_eq!(lines, ["before 0 -3", "after 1", "idle 0", "back 0 0"]);
}

#[test]
fn statistics_mean_the_same_under_loss_on_any() {
    const PACKETS: usize = 20_000;
    let send = |left: &Host, _: &Host| left.send((0..PACKETS).map(|_| udp_frame(1000)));
    let lines = prints_the_same_on_any("loss", send);
    assert_eq!(lines, ["received all", "sum right, interface 0"]);
}

#[test]
fn two_threads_read_two_handles_and_a_third_ends_them() {
    let lines = prints_the_same("threads", |left, _| left.send(udp_frames(40)));
    let expected = [0, 1].map(|at| format!("handle {at}: -2, 40 packets of 40"));
    assert_eq!(lines, expected);
}

#[test]
fn a_handle_can_be_made_nonblocking_before_it_is_activated() {
    let lines = prints_the_same("nonblock", |_, _| {});
    assert_eq!(lines, ["before 0 -3", "after 1", "idle 0", "back 0 0"]);
}

#[test]
fn names_and_texts_are_libpcaps() {
    let [_left, right] = Net::new().pair();
    let [libpcap, tapline] =
        BOTH.map(|library| start(&right, library, &program(), &["names", "-"]).finish());
    // Newer versions know more link types.
    let missing: Vec<_> = libpcap
        .iter()
        .filter(|line| !tapline.contains(line))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn calls_that_come_too_early_or_cannot_work_are_refused_alike() {
    let [_left, right] = Net::new().pair();
    let interface = right.interface().name.to_string();
    let [libpcap, tapline] =
        BOTH.map(|library| start(&right, library, &program(), &["refusals", &interface]).finish());
    assert_eq!(libpcap, tapline);
}

#[test]
fn the_account_adds_up() {
    let include = format!("-I{}", room().join("include").display());
    let load = format!(
        "-l:{}",
        crate::support::library()
            .file_name()
            .expect("a name")
            .to_string_lossy()
    );
    let folder = crate::support::library()
        .parent()
        .expect("a folder")
        .display();
    let program = compile(
        "scenario",
        &["-DACCOUNT", &include, &format!("-L{folder}"), &load],
    );
    let [left, right] = Net::new().pair();
    let interface = right.interface().name.to_string();
    let mut running = start(&right, Library::Tapline, &program, &["account", &interface]);
    running.ready();
    left.send(frames(30));
    running.tell(60);
    assert_eq!(
        running.finish(),
        [
            "waiting 30 of 60",
            "received 60 delivered 30 filtered 30 waiting 0 lost 0"
        ]
    );
}
