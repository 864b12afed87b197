//! Whether many probes add up: what was sent, what the kernel that was asked has counted, and what was
//! received.

use std::time::Instant;

use tapline_lab::Host;

use crate::rig::{PEER, Rig, echoes};
use crate::table;
use crate::tool::{Tool, summary};

struct Case {
    name: &'static str,
    arguments: String,
    /// Probes that are to be sent.
    probes: u64,
    to_left: bool,
}

pub fn run(rig: &Rig, tapline: &Tool, is_long: bool) {
    let one = |name, probes| Case {
        name,
        arguments: format!("-c {probes} -i 0 {PEER}"),
        probes,
        to_left: false,
    };
    let mut cases = vec![
        Case {
            name: "1 000 000 targets on the loopback",
            arguments: "-c 1 127.16.0.1-127.31.66.64".into(),
            probes: 1_000_000,
            to_left: true,
        },
        Case {
            name: "60 000 targets over the link, twice",
            arguments: "-c 2 -i 0 10.2.0.1-10.2.234.96".into(),
            probes: 120_000,
            to_left: false,
        },
        one("70 000 probes to one target", 70_000),
    ];
    if is_long {
        cases.push(one("10 000 000 probes to one target", 10_000_000));
    }
    let columns = [
        "what",
        "sent",
        "asked, by the kernel",
        "received",
        "lost",
        "s",
    ];
    table::heading("Whether it adds up", &columns);
    let mut wrong = 0;
    for case in &cases {
        let host: &Host = if case.to_left { &rig.left } else { &rig.right };
        eprintln!("bench: {}", case.name);
        let (start, before) = (Instant::now(), echoes(host));
        let arguments = format!("ping --json -q --rate max -s 16 {}", case.arguments);
        let finished = tapline.start(&rig.left, &arguments).finish();
        let asked = echoes(host) - before;
        let summary = summary(&finished.text);
        let summary = summary.unwrap_or_else(|| panic!("{finished:?}"));
        let number = |key: &str| summary[key].as_u64().unwrap_or(u64::MAX);
        let counts = ["sent", "received", "lost"].map(number);
        let adds_up = counts == [case.probes, case.probes, 0] && asked == case.probes;
        wrong += u32::from(!adds_up);
        let [sent, received, lost] = counts.map(|count| count.to_string());
        let seconds = format!("{:.1}", start.elapsed().as_secs_f64());
        table::row(&[
            case.name.into(),
            sent,
            asked.to_string(),
            received,
            lost,
            seconds,
        ]);
    }
    println!();
    table::at_most("cases that do not add up", &[f64::from(wrong)], 0.0);
}
