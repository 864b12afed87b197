//! The command of the guide that sends flows to Kafka, with librdkafka's broker for tests.

use std::fs;
use std::path::Path;

use lab::tool;
use serde_json::Value;

use crate::support::run::spawn;
use crate::support::{PROGRAM, Scene};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/flows.md");
const BROKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flows/kafka_broker.py");

const FLOWS: usize = 200;

#[test]
fn the_command_of_the_guide_sends_every_flow_to_kafka() {
    let scene = Scene::new();
    let file = scene.file("many.pcapng");
    let line = format!(
        "send --udp --src 10.1.0.1-10.1.200.200 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows {FLOWS} -c 1000 -w {file}"
    );
    scene.run(&line).exit(0);
    let python = tool::python();
    let python = python.get_program().to_str().expect("a path");
    let mut broker = scene.right.command(python);
    broker.args([BROKER, "flows"]);
    let mut broker = spawn(broker);
    let address = broker.ready()["broker"].as_str().map(str::to_owned);
    let address = address.expect("an address");
    let guide = fs::read_to_string(GUIDE).expect("the guide");
    let command = guide.lines().find(|line| line.contains("| kcat -E -P"));
    let command = command.expect("the command");
    assert!(command.contains("-i eth0") && command.contains("kafka:9092"));
    let command = command
        .replace("-i eth0", &file)
        .replace("kafka:9092", &address);
    let folder = Path::new(PROGRAM).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = scene.right.command("bash");
    shell
        .args(["-e", "-o", "pipefail", "-c", &command])
        .env("PATH", format!("{}:{path}", folder.display()));
    let sent = spawn(shell).finish();
    assert!(sent.status.success(), "{sent:?}");
    let is_flow = |event: &Value| event["event"] == "flow";
    let mut expected = scene.run(&format!("flows --json {file}")).events();
    expected.retain(is_flow);
    assert_eq!(expected.len(), FLOWS);
    let mut taken: Vec<_> = (0..FLOWS).map(|_| broker.event(is_flow)).collect();
    // A topic has several partitions, each in its own order.
    let key = |flow: &Value| flow.to_string();
    expected.sort_by_key(key);
    taken.sort_by_key(key);
    assert_eq!(taken, expected);
}
