//! Corpus and random filters on corpus and random packets, in every engine. Compared with libpcap's interpreter, the
//! kernel's socket filter, and tapline's engines with each other.

use tapline_lab::oracle::{Campaign, Class};

#[test]
fn every_engine_gives_one_value() {
    let campaign = Campaign {
        seed: 0x7a9e_11e5,
        cases: 150_000,
        packets: 100,
        kernel_packets: 20,
    };
    let tally = campaign.run();
    println!("{tally}");
    assert_eq!(tally.unexplained, 0, "{tally}");
    assert!(tally.cases >= campaign.cases);
    // Filters that take some packets and leave some are the ones that tell engines apart.
    assert!(tally.matches * 10 > tally.cases, "{tally}");
    assert!(tally.matches * 10 < tally.cases * 9, "{tally}");
    // Redundant terms are removed and alternatives reordered: a truncated packet may match that libpcap rejects for
    // missing bytes, or the other way round. That is rare.
    let cut = [Class::CutForThem, Class::CutForUs].map(|class| tally.classes.get(&class));
    let cut: u64 = cut.into_iter().flatten().sum();
    assert!(cut * 100 <= tally.cases, "{tally}");
    // What only libpcap takes has names, or needs a live capture.
    let is_known = |said: &String| said.starts_with("unknown ") || said.starts_with("not a live");
    assert!(tally.only_theirs.keys().all(is_known), "{tally}");
    for engine in [
        "interpreter",
        "classic",
        "native",
        "libpcap",
        "libpcap, optimised",
    ] {
        assert!(tally.engines[engine] * 2 > tally.cases, "{engine}: {tally}");
    }
    assert!(
        tally.engines["kernel, socket"] * 20 > tally.cases,
        "{tally}"
    );
}
