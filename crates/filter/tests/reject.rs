//! Every text that libpcap's test suite expects to be rejected, with the reason.

use crate::corpus::names::Table;
use crate::corpus::{entries, options_of, text};
use tapline_filter::{FilterErrorReason, compile};

/// Whether `reason` is a syntax error for libpcap.
fn is_syntax(reason: &FilterErrorReason) -> bool {
    matches!(
        reason,
        FilterErrorReason::Unexpected { .. } | FilterErrorReason::Character
    )
}

#[test]
fn every_text_is_rejected_for_its_reason() {
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in entries("reject.json") {
        let (expression, expected) = (text(&entry, "expression"), text(&entry, "reason"));
        // That libpcap was built without `protochain`; other entries of the corpus need it.
        if expected == "protochain not supported" {
            continue;
        }
        count += 1;
        match compile(expression, &options_of(&entry), &Table) {
            Ok(_) => failures.push(format!("{expression}: taken, not {expected}")),
            Err(error) => {
                let same = if expected.ends_with("syntax error") {
                    is_syntax(&error.reason)
                } else {
                    let reason = error.reason.to_string().replace('"', "'");
                    reason.contains(&expected.replace('"', "'"))
                };
                if !same {
                    failures.push(format!("{expression}: {error}, not {expected}"));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {count}\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert_eq!(count, 121);
}
