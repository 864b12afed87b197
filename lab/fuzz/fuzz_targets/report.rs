#![no_main]

#[path = "../../../crates/cli/src/page/mod.rs"]
#[allow(dead_code, missing_docs, unused_imports)]
mod page;

use page::{Bars, Column, Page, Panel, Panels, Table};
use tapline::analysis::Analysis;

// A file of any bytes is analyzed, and its figures agree. No text of it becomes markup of a page.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut page = Page::new(&String::from_utf8_lossy(bytes));
    let text = String::from_utf8_lossy(bytes).into_owned();
    page.section(&text);
    page.facts([(&text, &text)]);
    page.table(&Table {
        caption: &text,
        columns: vec![Column::Text(&text), Column::Number(&text), Column::Share(&text)],
        rows: vec![vec![text.clone(), text.clone(), text.clone()]],
    });
    let Some(analysis) = analyze(bytes) else {
        let whole = page.finish(&text);
        assert!(!whole.contains("<script"));
        return;
    };
    let (start_ns, width_ns, slots) = analysis.timeline.slots(240);
    let packets: u64 = slots.iter().map(|slot| slot.packets).sum();
    assert_eq!(packets + analysis.untimed, analysis.packets);
    assert_eq!(analysis.protocols.packets, analysis.packets);
    assert_eq!(analysis.sizes.packets.iter().sum::<u64>(), analysis.packets);
    let values = slots.iter().map(|slot| slot.packets as f64).collect();
    let curves = vec![Panel { title: "packets", values }];
    let step = width_ns as f64 / 1e9;
    page.chart("time", &Panels { across: &text, start: start_ns as f64 / 1e9, step, curves });
    let classes = analysis.sizes.packets.map(|packets| (text.clone(), packets as f64));
    page.chart(&text, &Bars { across: &text, up: &text, classes: classes.into() });
    let whole = page.finish(&text);
    assert!(!whole.contains("<script") && !whole.contains("NaN"));
});

fn analyze(bytes: &[u8]) -> Option<Analysis> {
    let (read, mut write) = std::io::pipe().ok()?;
    // A pipe takes 64 KiB without a reader.
    std::io::Write::write_all(&mut write, bytes.get(..60_000).unwrap_or(bytes)).ok()?;
    drop(write);
    let mut job = tapline::read::ReadBuilder::new().stream("input", read).open().ok()?;
    let mut analysis = Analysis::default();
    // What is before the damage counts.
    let _ = job.analyze(&mut analysis);
    Some(analysis)
}
