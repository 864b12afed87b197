//! iproute2 as a witness.

use serde_json::Value;
use tapline_lab::Host;

/// What `ip -json -details -statistics ARGUMENTS` says on `host`.
#[track_caller]
pub fn ip_json(host: &Host, arguments: &[&str]) -> Value {
    let mut command = host.command("ip");
    command
        .args(["-json", "-details", "-statistics"])
        .args(arguments);
    let output = command.output().expect("ip runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}
