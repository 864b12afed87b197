//! eBPF of filters without a kernel: listings written by hand, and unavailable metadata.
//! `crates/bpf/tests/filter_*.rs` runs the code.

use tapline_filter::ebpf::{EbpfListing, Fragment, Insn, MapKind, Verdicts, map_keys};
use tapline_filter::{
    Filter, FilterError, FilterErrorReason, FilterOptions, FilterTarget, LinkType, NoNames,
};

fn fragment(text: &str, at: FilterTarget) -> Result<Fragment, FilterError> {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = at;
    Filter::new(text, &options, &NoNames).unwrap().ebpf()
}

fn listing(text: &str, at: FilterTarget) -> String {
    let fragment = fragment(text, at).unwrap();
    EbpfListing(&fragment.program(fragment.snaplen_verdicts())).to_string()
}

#[test]
fn one_length_check_covers_all_accepted_packets() {
    let expected = "   0: r6 = r1
   1: r7 = *(u32 *)(r6 + 0)
   2: r8 = *(u32 *)(r6 + 4)
   3: r1 = r7
   4: r1 += 24
   5: if r1 > r8 goto 11
   6: r1 = *(u16 *)(r7 + 12)
   7: r1 = be16 r1
   8: if w1 != 0x800 goto 11
   9: r2 = *(u8 *)(r7 + 23)
  10: if w2 == 17 goto 13
  11: w0 = 0
  12: exit
  13: w0 = 0x40000
  14: exit
";
    assert_eq!(listing("ip proto 17", FilterTarget::Xdp), expected);
}

#[test]
fn at_tc_the_prologue_makes_the_bytes_directly_readable() {
    let expected = "   0: r6 = r1
   1: r7 = *(u32 *)(r6 + 76)
   2: r8 = *(u32 *)(r6 + 80)
   3: r0 = r8
   4: r0 -= r7
   5: if r0 >= 14 goto 14
   6: r2 = *(u32 *)(r6 + 0)
   7: if r2 <= r0 goto 14
   8: if r2 <= 14 goto 10
   9: w2 = 14
  10: r1 = r6
  11: call bpf_skb_pull_data
  12: r7 = *(u32 *)(r6 + 76)
  13: r8 = *(u32 *)(r6 + 80)
  14: r1 = r7
  15: r1 += 14
  16: if r1 > r8 goto 20
  17: r1 = *(u16 *)(r7 + 12)
  18: r1 = be16 r1
  19: if w1 == 0x800 goto 22
  20: w0 = 0
  21: exit
  22: w0 = 0x40000
  23: exit
";
    assert_eq!(listing("ip", FilterTarget::TcIngress), expected);
}

#[test]
fn an_empty_filter_only_accepts() {
    let fragment = fragment("", FilterTarget::Xdp).unwrap();
    let verdicts = Verdicts {
        accept: 1,
        reject: 2,
    };
    let listing = EbpfListing(&fragment.program(verdicts)).to_string();
    assert!(listing.ends_with("   3: w0 = 1\n   4: exit\n"), "{listing}");
}

#[test]
fn other_targets_have_no_ebpf() {
    for at in [FilterTarget::File, FilterTarget::Socket] {
        let error = fragment("ip", at).unwrap_err();
        assert_eq!(
            error.reason,
            FilterErrorReason::NotAvailable {
                what: "eBPF",
                target: at
            }
        );
    }
    let error = fragment("ip", FilterTarget::File).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column 1: 'eBPF' is not available in a file"
    );
}

/// The single set that the code looks up.
fn set_of(text: &str) -> (Fragment, usize) {
    let fragment = fragment(text, FilterTarget::Xdp).unwrap();
    let named = |insn: &Insn<_>| match insn {
        Insn::LoadMap { map, .. } => Some(*map),
        _ => None,
    };
    let mut ids: Vec<_> = fragment.code.iter().filter_map(named).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{}", EbpfListing(&fragment.code));
    (fragment, usize::from(ids[0].0))
}

#[test]
fn a_long_list_is_looked_up_in_a_map() {
    let list = |term: fn(u32) -> String| (0..100).map(term).collect::<Vec<_>>().join(" or ");
    let (fragment, id) = set_of(&list(|at| format!("ether[30:2] = {}", at * 5)));
    assert_eq!(MapKind::of(&fragment.sets[id]), MapKind::Hash);
    assert_eq!(map_keys(&fragment.sets[id]).0.len(), 100 * 4);
    // 5 and 6 are two prefixes: a prefix of two numbers starts with an even one.
    let (fragment, id) = set_of(&list(|at| {
        let least = at * 8 + 5;
        format!("(ether[30:2] >= {least} and ether[30:2] <= {})", least + 1)
    }));
    assert_eq!(MapKind::of(&fragment.sets[id]), MapKind::LongestPrefix);
    assert_eq!(map_keys(&fragment.sets[id]).0.len(), 200 * 8);
}
