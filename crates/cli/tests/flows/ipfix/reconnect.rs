//! A collector over TCP that goes away and comes back.

use std::io::Read;
use std::net::TcpListener;

use lab::wait;
use wire::MacAddress;
use wire::build::Frame;

use super::{collect, counter, decoded, split};
use crate::support::run::{Running, spawn};
use crate::support::{Scene, number};

/// `count` UDP packets, each of another flow, the first from this port.
fn flows_from(port: u16, count: u16) -> Vec<Vec<u8>> {
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let frame = |port| {
        let frame = Frame::ethernet(mac, mac).ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        frame.udp(port, 9).payload(b"")
    };
    (port..port + count).map(frame).collect()
}

/// Waits until a capture has printed so many flows.
fn printed_flows(running: &mut Running, count: usize) {
    for _ in 0..count {
        running.event(|event| event["event"] == "flow");
    }
}

#[test]
fn a_capture_connects_to_its_collector_again() {
    let scene = Scene::new();
    let listener = scene.right.run(|| TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a socket");
    let to = listener.local_addr().expect("an address");
    let line =
        format!("flows -i right0 --json --idle 100ms -c 42 --ipfix tcp:{to} ether src 2:0:0:0:0:1");
    let mut running = spawn(scene.command(&line));
    running.ready();
    let (mut stream, _) = listener.accept().expect("a connection");
    scene.send(&flows_from(1000, 1));
    let mut first = vec![0; 4];
    stream.read_exact(&mut first).expect("a header");
    first.resize(usize::from(u16::from_be_bytes([first[2], first[3]])), 0);
    stream.read_exact(&mut first[4..]).expect("a message");
    assert_eq!(decoded(&[first]).len(), 1);
    printed_flows(&mut running, 1);
    // Nobody listens any more at the port of the collector, and then it goes away.
    drop(listener);
    drop(stream);
    let closed = "the collector has closed the connection";
    let warning = format!("warning: cannot send flows to tcp:{to}: {closed}; ");
    let line = running.error_line();
    assert!(line.starts_with(&warning), "{line}");
    wait::until("an attempt to connect is refused", || {
        counter(&scene.right, "Tcp: ", "AttemptFails") > 0
    });
    // More flows than a message has room for.
    scene.send(&flows_from(2000, 40));
    printed_flows(&mut running, 40);
    let listener = scene.right.run(|| TcpListener::bind(to));
    let collector = collect(listener.expect("the same port"));
    let line = running.error_line();
    assert!(
        line.starts_with(&format!("connected to tcp:{to} again; ")),
        "{line}"
    );
    scene.send(&flows_from(3000, 1));
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let messages = split(&collector.join().expect("the collector"));
    // Another connection has sequence numbers and templates of its own.
    assert_eq!(messages[0][8..12], [0; 4]);
    let received = decoded(&messages).len() as u64;
    let ipfix = &ended.events().pop().expect("a summary")["ipfix"];
    assert_eq!(number(ipfix, "flows"), 1 + received);
    let failed = number(ipfix, "failed_flows");
    assert_eq!(number(ipfix, "flows") + failed, 42);
    assert!((1..=40).contains(&failed), "{failed}");
}
