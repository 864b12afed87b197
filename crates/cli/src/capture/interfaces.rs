//! `-D`: the interfaces, and why one cannot be captured from.

use std::io::{self, Write};

use tapline::capture::CaptureOptions;
use tapline::net::{Link, OperState, net};

use crate::failure::{Exit, Failure};
use crate::output::json;
use crate::screen::printable;

/// Size of the ring that is opened to find out, and closed at once.
const TRIAL_BYTES: usize = 1 << 20;

/// Prints one line per interface. Each is tried: a capture without promiscuous mode is opened and closed.
pub fn list(is_json: bool) -> Result<Exit, Failure> {
    let links = net().open()?.list(&Link::default())?.items;
    for link in &links {
        let name = link.name.as_ref().map(ToString::to_string);
        let name = name.unwrap_or_default();
        let refusal = refusal(&name);
        print(link, &name, refusal.as_deref(), is_json).map_err(|error| Failure::stdout(&error))?;
    }
    Ok(Exit::Done)
}

/// Why the interface cannot be captured from.
fn refusal(name: &str) -> Option<String> {
    let options = CaptureOptions::default().links(vec![name.to_owned()]);
    let options = options.promiscuous(false).buffer_bytes(TRIAL_BYTES);
    let error = options.open().err()?;
    Some(Failure::from(error).line)
}

fn print(link: &Link, name: &str, refusal: Option<&str>, is_json: bool) -> io::Result<()> {
    let index = link.index.map(|index| index.0);
    let state = state(link);
    if is_json {
        return json::print(&serde_json::json!({
            "event": "interface",
            "index": index,
            "name": name,
            "state": state,
            "mtu": link.mtu,
            "refusal": refusal,
        }));
    }
    let mut line = format!("{}. {name} [{state}]", index.unwrap_or_default());
    if let Some(refusal) = refusal {
        line = format!("{line}: cannot capture: {refusal}");
    }
    writeln!(io::stdout(), "{}", printable(&line))
}

/// The state of an interface: whether packets can arrive.
fn state(link: &Link) -> &'static str {
    const LOOPBACK: u16 = 772;
    match (link.up, link.hardware, link.state) {
        (Some(false), ..) => "down",
        (_, Some(LOOPBACK), _) => "loopback",
        (.., Some(OperState::Up | OperState::Unknown) | None) => "up",
        _ => "up, no carrier",
    }
}
