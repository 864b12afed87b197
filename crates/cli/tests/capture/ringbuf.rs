//! `--backend xdp-ringbuf`: a known number of packets sent is in the summary and in the file. Errors about what it
//! does not support name an alternative.

use std::net::UdpSocket;
use std::time::Duration;

use serde_json::json;

use crate::support::files::{bytes, count};
use crate::support::frames::{frames, udp};
use crate::support::run::spawn;
use crate::support::{RINGBUF, Scene, assert_refused};

#[test]
fn what_is_copied_is_accounted_for_and_the_stack_sees_it() {
    let scene = Scene::new();
    let to = (scene.right.interface().v4, 7001);
    let socket = scene.right.run(|| UdpSocket::bind(to).expect("a socket"));
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a deadline");
    for place in ["native", "generic"] {
        let mut running = scene.capture(&format!("{RINGBUF} --xdp {place} -w {place}.pcapng udp"));
        let datagrams = vec![udp(&[0x5a; 200]); 40];
        scene.send(&[frames(30, 60), datagrams].concat());
        running.received(70);
        let sender = scene
            .left
            .run(|| UdpSocket::bind("0.0.0.0:0").expect("a socket"));
        sender.send_to(b"whole", to).expect("it is sent");
        let mut received = [0; 9];
        assert_eq!(socket.recv(&mut received).expect("it arrives"), 5);
        running.delivered(41);
        let summary = running.stop().done();
        // Beside them come what the address resolution of the two hosts says.
        assert!(summary.number("filtered") >= 30);
        assert_eq!(summary.all_lost(), 0);
        summary.has(&json!({
            "delivered": 41, "backend": "xdp-ringbuf", "mode": "mirror", "xdp_mode": place,
        }));
        let file = scene.file(&format!("{place}.pcapng"));
        assert_eq!(count(&file), 41);
        assert!(bytes(&file)[..40].iter().all(|bytes| bytes.len() == 96));
    }
}

/// It says where it copies. The loopback's driver has no XDP; the stack's first step has.
#[test]
fn an_interface_without_native_xdp_is_refused_or_copied_from_in_the_stack() {
    let scene = Scene::new();
    let native = format!("capture -i lo {RINGBUF} --xdp native");
    assert_refused(
        |line| scene.run(line),
        &[(&native, 4, "(use --xdp auto or generic)")],
    );
    for (interface, place) in [("right0", "native"), ("lo", "generic")] {
        let mut running = spawn(scene.command(&format!("capture -i {interface} {RINGBUF}")));
        let line = running.error_line();
        let start = format!("capturing on {interface}, incoming packets (xdp-ringbuf, {place}, ");
        assert!(line.starts_with(&start), "{line}");
        let ended = running.stop();
        ended.exit(0);
        if place == "generic" {
            assert!(
                line.contains("refused native XDP: Operation not supported"),
                "{line}"
            );
            ended.assert_says(
                "generic XDP on lo: the driver refused native XDP: Operation not supported",
            );
        }
    }
}

#[test]
fn another_program_on_the_interface_is_named_as_the_reason() {
    let scene = Scene::new();
    let running = scene.capture(RINGBUF);
    let said = "(tapline_mirror) is attached already by process ";
    assert_refused(
        |line| scene.run(line),
        &[(&format!("capture -i right0 {RINGBUF}"), 1, said)],
    );
    running.stop().exit(0);
}
