//! Properties of native code other than its verdicts.
#![cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
))]

use tapline_filter::{Filter, FilterOptions, LinkType, NoNames};

fn ethernet(text: &str) -> Filter {
    Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap()
}

#[test]
fn an_empty_batch_has_no_verdicts() {
    ethernet("tcp").native().unwrap().run_batch(&[], &mut []);
}

#[test]
fn the_listing_has_instructions_and_bytes() {
    let listing = ethernet("tcp port 80").native_listing().unwrap();
    assert!(listing.contains("ret") && listing.contains("\n0000: "));
    assert!(listing.lines().count() > 20, "{listing}");
}

#[test]
fn code_is_not_writable_and_is_shared_by_threads() {
    let program = ethernet("ip").native().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let permissions = maps.lines().map(|line| line.split(' ').nth(1).unwrap());
    let permissions: Vec<_> = permissions.collect();
    assert!(permissions.contains(&"r-xp"));
    let is_open = |permissions: &&str| permissions.contains('w') && permissions.contains('x');
    assert!(!permissions.iter().any(is_open), "{maps}");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(program.run(&[8; 60], 60), 0));
        }
    });
}
