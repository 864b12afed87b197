//! What counts leave behind. Descriptors are those of the process, so this test has one of its own.

mod count_support;

use std::path::Path;

use count_support::{class, named, open, options};
use lab::Net;
use tapline::count::{Direction, Key, Options};

/// Open descriptors of this process that are BPF maps, programs and links.
fn bpf_descriptors() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let is_bpf = |target: &Path| target.to_string_lossy().contains("bpf");
    links
        .filter(|link| std::fs::read_link(link.path()).is_ok_and(|target| is_bpf(&target)))
        .count()
}

#[test]
fn classes_and_counts_that_are_over_leave_no_descriptor() {
    let [left, _right] = Net::new().pair();
    assert_eq!(bpf_descriptors(), 0);
    for _ in 0..4 {
        let options = Options {
            by: Some(Key::Src),
            ..options(&left, Direction::Both, &["udp", "tcp port 1"])
        };
        let mut count = open(&left, options);
        let open = bpf_descriptors();
        // For each place a program, its link and its counters; and the table of groups.
        assert_eq!(open, 2 * 3 + 1);
        let list: Vec<String> = (0..100)
            .map(|number| format!("host 10.0.{number}.1"))
            .collect();
        for _ in 0..3 {
            count.add_class(class("ip6")).unwrap();
            count.add_class(named("list", &list.join(" or "))).unwrap();
            assert!(bpf_descriptors() > open, "the list is in maps");
            count.remove_class("ip6").unwrap();
            count.remove_class("list").unwrap();
            assert_eq!(bpf_descriptors(), open);
        }
    }
    assert_eq!(bpf_descriptors(), 0);
}
