//! Servers and clients of rpcap: tapline's, and the ones in `rpcap/peer.py`.

use std::process::Command;

use lab::Host;
use serde_json::Value;

use super::run::{Running, spawn};
use super::{Scene, tapline, words};

/// The other end.
pub const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rpcap/peer.py");

/// A filter for the frames of the tests.
pub const FRAMES: &str = "ether proto 0x88b5";

/// `tapline serve rpcap LINE` at `host`, on a free port of the loopback unless the line says where; and its port.
#[track_caller]
pub fn serve(host: &Host, line: &str) -> (Running, u16) {
    let listen = if line.contains("--listen") {
        ""
    } else {
        "--listen 127.0.0.1:0"
    };
    let line = format!("serve rpcap --json {listen} {line}");
    let mut running = spawn(tapline(host, &line));
    let start = running.ready();
    let listen = start["listen"].as_str().expect("an address");
    let (_, port) = listen.rsplit_once(':').expect("a port");
    let port = port.parse().expect("a number");
    (running, port)
}

/// The account of the next capture that a server reports.
#[track_caller]
pub fn served(server: &mut Running) -> Value {
    server.event(|event| event["event"] == "capture")
}

/// `rpcap/peer.py LINE` at `host`.
pub fn peer(host: &Host, line: &str) -> Command {
    let mut command = host.command("python3");
    command.arg(PEER).args(words(line));
    command
}

/// The server of `rpcap/peer.py` at the right host, which misbehaves as `script` says; and its port.
#[track_caller]
pub fn scripted(scene: &Scene, script: &str) -> (Running, u64) {
    let mut running = spawn(peer(&scene.right, &format!("server {script}")));
    let port = running.ready()["port"].as_u64().expect("a port");
    (running, port)
}
