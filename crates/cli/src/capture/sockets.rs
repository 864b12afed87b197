//! How AF_XDP sockets receive, as text and as JSON.

use serde_json::Value;
use tapline::capture::{FallBack, Sockets};

/// As text.
pub fn words(sockets: Sockets) -> String {
    let mut words = vec![if sockets.zero_copy {
        "zero copy".to_owned()
    } else {
        "copy mode".to_owned()
    }];
    if sockets.need_wakeup {
        words.push("need-wakeup".to_owned());
    }
    if let Some(budget) = sockets.busy_poll {
        words.push(format!("busy polling up to {budget} packets"));
    }
    words.join(", ")
}

/// Adds the keys to a JSON object; null without such sockets.
pub fn add(object: &mut Value, sockets: Option<Sockets>, fall_back: Option<FallBack>) {
    let budget = sockets.and_then(|sockets| sockets.busy_poll);
    object["zero_copy"] = sockets.map(|sockets| sockets.zero_copy).into();
    object["need_wakeup"] = sockets.map(|sockets| sockets.need_wakeup).into();
    object["busy_poll_budget"] = budget.map(u16::from).into();
    object["fall_back"] = fall_back.map(|reason| reason.to_string()).into();
}
