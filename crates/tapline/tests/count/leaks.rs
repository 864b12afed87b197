//! Counting leaks no descriptors and no memory.
//!
//! `TAPLINE_SOAK_CHANGES=10000 cargo test -p tapline --test main count::leaks:: -- --nocapture` sets the number of class
//! changes.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::support::count::{class, named, open, options, with};
use lab::resources::resident_pages;
use lab::{Net, rerun};
use tapline::count::{Count, CountDirection, GroupBy};

const COUNTS: usize = 4;
const CHANGES: usize = 48;
/// Classes added or removed per round.
const CHANGES_OF_ROUND: usize = 4;
/// Maximum memory growth after the first tenth of the changes, in pages.
const MAX_GROWTH_PAGES: usize = 256;

/// Open descriptors of this process that are BPF maps, programs and links.
fn bpf_descriptors() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let is_bpf = |target: &Path| target.to_string_lossy().contains("bpf");
    links
        .filter(|link| fs::read_link(link.path()).is_ok_and(|target| is_bpf(&target)))
        .count()
}

/// Adds and removes classes.
fn change(count: &mut Count, list: &str, rounds: usize) {
    let open = bpf_descriptors();
    for _ in 0..rounds {
        count.add_class(class("ip6")).unwrap();
        count.add_class(named("list", list)).unwrap();
        assert!(bpf_descriptors() > open, "the list is in maps");
        count.remove_class("ip6").unwrap();
        count.remove_class("list").unwrap();
        assert_eq!(bpf_descriptors(), open);
    }
}

#[test]
fn removed_classes_and_finished_counts_leave_no_descriptors() {
    if rerun::has_run_alone() {
        return;
    }
    let changes = std::env::var("TAPLINE_SOAK_CHANGES").map_or(CHANGES, |n| n.parse().unwrap());
    let rounds = changes / COUNTS / CHANGES_OF_ROUND;
    let [left, _right] = Net::new().pair();
    let list: Vec<String> = (0..100)
        .map(|number| format!("host 10.0.{number}.1"))
        .collect();
    let list = list.join(" or ");
    assert_eq!(bpf_descriptors(), 0);
    let start = Instant::now();
    let mut pages = None;
    for _ in 0..COUNTS {
        let options = with!(
            options(&left, CountDirection::Both, &["udp", "tcp port 1"]);
            by: Some(GroupBy::Src),
        );
        let mut count = open(&left, options);
        // For each place a program, its link and its counters; and the table of groups.
        assert_eq!(bpf_descriptors(), 2 * 3 + 1);
        change(&mut count, &list, rounds.div_ceil(10));
        let first = *pages.get_or_insert_with(resident_pages);
        change(&mut count, &list, rounds);
        let now = resident_pages();
        assert!(now <= first + MAX_GROWTH_PAGES, "{first} pages, then {now}");
    }
    assert_eq!(bpf_descriptors(), 0);
    let span = start.elapsed();
    println!(
        "{changes} changes in {span:?}: {pages:?} pages, then {}",
        resident_pages()
    );
}
