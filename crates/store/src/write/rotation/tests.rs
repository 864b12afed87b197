use super::*;

fn named(path: &str, compressed: bool) -> String {
    let name = numbered_name(
        Path::new(path),
        compressed,
        7,
        1_700_000_000_000_000_000,
        &TimeZone::UTC,
    );
    name.to_string_lossy().into_owned()
}

#[test]
fn a_name_keeps_its_folder_and_extension() {
    // `date -u -d @1700000000 +%Y%m%d%H%M%S` prints 20231114221320.
    assert_eq!(
        named("/a.b/c.pcapng", false),
        "/a.b/c_00007_20231114221320.pcapng"
    );
    assert_eq!(named("c.d.pcap", false), "c.d_00007_20231114221320.pcap");
    assert_eq!(named("c", false), "c_00007_20231114221320");
}

#[test]
fn a_compressed_name_ends_with_zst_once() {
    assert_eq!(named("c.pcapng", true), "c_00007_20231114221320.pcapng.zst");
    assert_eq!(
        named("c.pcapng.zst", true),
        "c_00007_20231114221320.pcapng.zst"
    );
    assert_eq!(named("c", true), "c_00007_20231114221320.zst");
    assert_eq!(
        plain_name(Path::new("c.pcapng"), true),
        Path::new("c.pcapng.zst")
    );
    assert_eq!(plain_name(Path::new("c.zst"), true), Path::new("c.zst"));
    assert_eq!(
        plain_name(Path::new("c.pcapng"), false),
        Path::new("c.pcapng")
    );
}

#[test]
fn a_name_has_local_time() {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let name = numbered_name(Path::new("c"), false, 1, 1_700_000_000_000_000_000, &zone);
    assert_eq!(name, Path::new("c_00001_20231115001320"));
}

fn every(interval_ns: u64) -> Rotation {
    Rotation {
        interval_ns: std::num::NonZeroU64::new(interval_ns),
        ..Rotation::default()
    }
}

#[test]
fn intervals_are_multiples_since_1970() {
    let budget = Budget::new(every(100), false, 250, 0);
    assert!(!budget.is_over(299, 0));
    assert!(budget.is_over(300, 0));
    assert_eq!(budget.next_start(300), 300);
    assert_eq!(budget.next_start(555), 500);
}

#[test]
fn a_late_packet_stays_but_a_clock_set_back_ends_the_file() {
    let budget = Budget::new(every(100), false, 250, 0);
    assert!(!budget.is_over(1, 0));
    assert!(!budget.is_over_at(100));
    assert!(budget.is_over_at(99));
    assert_eq!(budget.interval_start(99), 0);
    // Should the late packet not fit, the next file has the same interval.
    assert_eq!(budget.next_start(1), 200);
    assert_eq!(budget.next_start(260), 260);
}

#[test]
fn an_interval_at_the_end_of_time_does_not_wrap() {
    let budget = Budget::new(every(1 << 60), false, u64::MAX, 0);
    assert!(!budget.is_over(u64::MAX, 0));
    assert!(!budget.is_over_at(u64::MAX));
}

#[test]
fn without_rules_a_file_never_ends() {
    let budget = Budget::new(Rotation::default(), false, 5, 1 << 40);
    assert!(!budget.is_over(u64::MAX, 1 << 40));
    assert!(!budget.is_over_at(u64::MAX));
    assert!(!budget.is_over_at(0));
}
