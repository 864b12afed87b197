//! Filters of the corpus and random ones, on packets of the corpus and random ones, in every engine.
//! Compared with: libpcap's interpreter, the kernel's socket filter, and our engines with each other.

use tapline_lab::oracle::Campaign;

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
