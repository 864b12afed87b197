//! Classes of a counting program on random packets, each compared with its filter in the interpreter.

use std::ops::Range;
use std::os::fd::AsFd;

use abi::bpf::TestRun;
use lab::oracle::{KernelTestRun, Random, packets, text};
use tapline_bpf::LoadError;
use tapline_bpf::count::{
    COUNTERS_PER_SLOT, ClassSlot, CountedClass, CountedFilter, CounterArray, CountingHook,
    CountingOptions, CountingProgram, Overhead,
};
use tapline_filter::classic::Ancillary;
use tapline_filter::{Filter, FilterErrorReason, FilterOptions, FilterTarget, LinkType, NoNames};

const CLASSES: usize = 12;
const PACKETS: usize = 60;
/// Bytes that a packet may lack: more than any of the random filters asks for.
const LACKING: usize = 70_000;

/// A filter for `place` and its code; `None` if it needs more than the eBPF stack.
fn counted(text: &str, place: CountingHook) -> Option<(Filter, CountedFilter)> {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = place.filters_at();
    options.netmask = Some([255, 255, 255, 0].into());
    let filter = Filter::new(text, &options, &NoNames).ok()?;
    match CountedFilter::write(&filter, place) {
        Ok(written) => Some((filter, written.with_maps("tapline_test").unwrap())),
        Err(error) if error.reason == FilterErrorReason::TooManyRegisters => None,
        Err(error) => panic!("{text}: {error}"),
    }
}

/// The packet as the kernel stores it when VLAN tags are in the metadata.
fn as_at_tc(bytes: &[u8]) -> (Vec<u8>, Ancillary) {
    let mut ancillary = KernelTestRun::ancillary();
    let tag = bytes.get(12..18).and_then(|tag| match tag {
        [0x81, 0, high, low, ..] | [0x88, 0xa8, high, low, ..] => Some([*high, *low]),
        _ => None,
    });
    let Some(tag) = tag else {
        return (bytes.to_vec(), ancillary);
    };
    ancillary.vlan_tag = Some(u16::from_be_bytes(tag));
    ([&bytes[..12], &bytes[16..]].concat(), ancillary)
}

/// A random packet; half of them have a VLAN tag.
fn packet(random: &mut Random, at: FilterTarget) -> Vec<u8> {
    loop {
        let mut bytes = packets::packet(random, LinkType::Ethernet).bytes;
        if random.one_in(2) && bytes.len() >= 14 {
            let kind = *random.pick(&[0x8100_u16, 0x88a8]);
            let tag = random.below(10) as u16;
            bytes.splice(12..12, [kind.to_be_bytes(), tag.to_be_bytes()].concat());
        }
        if is_taken(at, &bytes) {
            return bytes;
        }
    }
}

/// Whether the kernel accepts the packet for a test run. For tc it requires a payload after the Ethernet header; for
/// IP, at least the fixed IP header (`bpf_prog_test_run_skb`, net/bpf/test_run.c).
fn is_taken(at: FilterTarget, bytes: &[u8]) -> bool {
    let least = match (at, bytes.get(12..14)) {
        (FilterTarget::Xdp, _) => 14,
        (_, Some([0x08, 0x00])) => 14 + 20,
        (_, Some([0x86, 0xdd])) => 14 + 40,
        _ => 15,
    };
    (least..=3000).contains(&bytes.len())
}

/// Filters that search all layers. The verifier takes a second for a program with one of them.
const SEARCHES: [&str; 6] = [
    "any port 80",
    "any tcp",
    "inner udp",
    "any net 10.0.0.0/8",
    "any ip6",
    "not any port 53",
];

#[test]
fn each_class_counts_in_xdp_what_its_filter_accepts_and_all_their_bytes() {
    compare(FilterTarget::Xdp, 0..52, &[], 1);
    compare(FilterTarget::Xdp, 52..60, &SEARCHES[..1], 1);
}

#[test]
fn filters_that_are_too_long_for_one_program_count_in_a_chain() {
    compare(FilterTarget::Xdp, 300..304, &SEARCHES, 2);
    compare(FilterTarget::TcIngress, 400..404, &SEARCHES, 2);
}

#[test]
fn each_class_counts_at_tc_what_its_filter_accepts_and_all_their_bytes() {
    for (at, rounds) in [
        (FilterTarget::TcIngress, 100),
        (FilterTarget::TcEgress, 200),
    ] {
        compare(at, rounds..rounds + 26, &[], 1);
        compare(at, rounds + 26..rounds + 30, &SEARCHES[..1], 1);
    }
}

/// Compares the counts of `searches` and of random filters with the interpreter. They need at least `programs` programs.
fn compare(at: FilterTarget, rounds: Range<u64>, searches: &[&str], programs: usize) {
    let place = CountingHook::new(at, LinkType::Ethernet);
    let verdict = match at {
        FilterTarget::Xdp => 2,
        _ => u32::MAX,
    };
    let (mut compared, mut lacking) = ([0; 2], 0);
    let rounds_count = rounds.end - rounds.start;
    for round in rounds {
        let random = &mut Random::new(round);
        let search = |text: &&str| counted(text, place);
        let mut filters: Vec<_> = searches.iter().filter_map(search).collect();
        assert_eq!(filters.len(), searches.len());
        while filters.len() < CLASSES {
            let text = text::expression(random, LinkType::Ethernet, place.filters_at());
            // A search of all layers takes the verifier long.
            let found = counted(&text, place);
            filters.extend(found.filter(|(filter, _)| filter.own_words().is_empty()));
        }
        let slots = (CLASSES + 1) as u32;
        let counters = CounterArray::create("tapline_test", slots * COUNTERS_PER_SLOT).unwrap();
        let options = CountingOptions {
            place,
            overhead: Overhead::default(),
            counters: counters.as_fd(),
            groups: None,
            streams: None,
        };
        let slot = |number| ClassSlot { number, serial: 0 };
        let all = CountedClass {
            slot: slot(0),
            filter: None,
        };
        let named = (1..)
            .zip(&filters)
            .map(|(number, (_, filter))| CountedClass {
                slot: slot(number),
                filter: Some(filter),
            });
        let classes: Vec<_> = [all].into_iter().chain(named).collect();
        let program = match CountingProgram::load("tapline_test", &options, &classes) {
            Ok(program) => program,
            Err(LoadError::Refused { log, .. }) => panic!("{}", log.tail(30)),
            Err(error) => panic!("{error}"),
        };
        assert!(program.program_count() >= programs);
        let mut expected = vec![[0_u64; 2]; CLASSES + 1];
        for _ in 0..PACKETS {
            let data = packet(random, at);
            let run = TestRun {
                data: &data,
                ..TestRun::default()
            };
            let result = program.program().test_run(&run, &mut []).unwrap();
            assert_eq!(result.return_value, verdict);
            let (bytes, ancillary) = match at {
                // Nobody has taken the tag out of a packet that is given to a test-run.
                FilterTarget::TcIngress => (data.clone(), KernelTestRun::ancillary()),
                _ => as_at_tc(&data),
            };
            let counts = counters.read().unwrap();
            for (number, tally) in expected.iter_mut().enumerate() {
                let at = number * COUNTERS_PER_SLOT as usize;
                let counted = &counts[at..at + 2];
                let filter = number.checked_sub(1).map(|at| &filters[at].0);
                let len = bytes.len() as u32;
                let accepts = |bytes: &[u8]| {
                    filter.is_none_or(|filter| filter.run(bytes, len, &ancillary) > 0)
                };
                let is_in = accepts(&bytes);
                if counted[0] == tally[0] + u64::from(!is_in)
                    && accepts(&[bytes.as_slice(), &vec![0; LACKING]].concat()) != is_in
                {
                    // The filter asked for bytes that the packet lacks: code for a shape may know
                    // already that nothing depends on them.
                    lacking += 1;
                    *tally = [counted[0], counted[1]];
                    continue;
                }
                *tally = [
                    tally[0] + u64::from(is_in),
                    tally[1] + u64::from(is_in) * data.len() as u64,
                ];
                compared[usize::from(is_in)] += 1;
                let text = filter.map_or("", Filter::text);
                assert_eq!(counted, *tally, "round {round}: {text}\n{data:02x?}");
            }
        }
    }
    // Neither verdict is rare.
    let least = 40 * rounds_count;
    assert!(
        compared.into_iter().all(|count| count > least),
        "{compared:?}"
    );
    assert!(lacking < compared[0] / 100, "{lacking}");
}
