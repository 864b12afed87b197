//! Compares filters in the kernel's test run with the reference interpreter.

#[path = "../../../filter/tests/corpus/mod.rs"]
#[allow(dead_code, reason = "the tests of `filter` use the rest")]
pub mod corpus;

pub use corpus::lists::random;

use abi::bpf::TestRun;
use corpus::packets::{Packet, all_packets};
use corpus::{entries, options_of, text};
use tapline_bpf::{FilterMaps, LoadError, Program, ProgramKind};
use tapline_filter::classic::Ancillary;
use tapline_filter::ebpf::{EbpfListing, Verdicts};
use tapline_filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};

/// Maximum packet size of a test run: a page minus the kernel's overhead.
const MOST_BYTES: usize = 3400;

/// Whether the kernel accepts the packet for a test run: it requires an Ethernet header and, for tc, a payload; for IP,
/// at least the fixed IP header (`bpf_prog_test_run_skb`, net/bpf/test_run.c).
fn can_run(packet: &[u8], at: FilterTarget) -> bool {
    let least = match (at, packet.get(12..14)) {
        (FilterTarget::Xdp, _) => 14,
        (_, Some([0x08, 0x00])) => 14 + 20,
        (_, Some([0x86, 0xdd])) => 14 + 40,
        _ => 15,
    };
    (least..=MOST_BYTES).contains(&packet.len())
}

/// A filter in the kernel.
pub struct Loaded {
    pub filter: Filter,
    pub program: Program,
    pub listing: String,
}

pub fn kind(at: FilterTarget) -> ProgramKind {
    match at {
        FilterTarget::Xdp => ProgramKind::Xdp,
        _ => ProgramKind::Tc,
    }
}

/// Loads `filter` with the given verdicts, or its own.
pub fn load(filter: &Filter, verdicts: Option<Verdicts>) -> (Program, String) {
    let fragment = filter.ebpf().unwrap();
    let code = fragment.program(verdicts.unwrap_or(fragment.snaplen_verdicts()));
    let maps = FilterMaps::create("tapline_test", &fragment).unwrap();
    let resolved = maps.resolve(&code).unwrap();
    let listing = EbpfListing(&code).to_string();
    let program = match Program::load(kind(filter.options().target), "tapline_test", &resolved) {
        Ok(program) => program,
        Err(LoadError::Refused { log, .. }) => {
            panic!("{listing}\n{}", log.tail(40));
        }
        Err(error) => panic!("{error}\n{listing}"),
    };
    (program, listing)
}

impl Loaded {
    pub fn new(filter: Filter) -> Self {
        let (program, listing) = load(&filter, None);
        Self {
            filter,
            program,
            listing,
        }
    }

    pub fn of(expression: &str, at: FilterTarget) -> Self {
        let mut options = FilterOptions::new(LinkType::Ethernet);
        options.target = at;
        Self::new(Filter::new(expression, &options, &NoNames).unwrap())
    }

    /// The program's return value in the kernel.
    pub fn test_run(&self, packet: &[u8]) -> u32 {
        let run = TestRun {
            data: packet,
            ..TestRun::default()
        };
        let result = self.program.test_run(&run, &mut []);
        let result = result.unwrap_or_else(|error| panic!("{} bytes: {error}", packet.len()));
        result.return_value
    }

    /// Asserts that the kernel and the interpreter agree on all prefixes of `packet` with the given `lengths`. Counts
    /// the accepted ones.
    pub fn assert_alike(&self, name: &str, packet: &[u8], lengths: &[usize]) -> usize {
        let ancillary = Ancillary {
            // A test-run has the loopback's.
            interface_index: Some(1),
            packet_type: Some(0),
            queue: Some(0),
            ..Ancillary::default()
        };
        let mut accepted = 0;
        for &length in lengths {
            let Some(bytes) = packet.get(..length) else {
                continue;
            };
            if !can_run(bytes, self.filter.options().target) {
                continue;
            }
            let expected = self.filter.run(bytes, length as u32, &ancillary);
            let found = self.test_run(bytes);
            assert_eq!(found, expected, "{name}: {bytes:02x?}\n{}", self.listing);
            accepted += usize::from(expected != 0);
        }
        accepted
    }
}

/// Lengths to test: the whole packet, its first bytes, and random prefixes.
fn lengths(packet: &Packet, seed: &mut u64) -> Vec<usize> {
    let whole = packet.bytes.len();
    let mut lengths = vec![whole, whole.min(64)];
    for most in [24, 60, 120] {
        lengths.push(14 + random(seed) as usize % most);
    }
    lengths
}

/// Runs every corpus filter that supports `at`. Asserts that the kernel accepts all of them and agrees with the
/// interpreter. Returns the numbers of filters and runs.
pub fn corpus_filters(at: FilterTarget) -> (usize, usize) {
    let packets = all_packets();
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let (mut filters, mut runs) = (0, 0);
    for entry in entries("accept.json") {
        let mut options = options_of(&entry);
        options.target = at;
        // What only another place knows is not asked for here.
        let expression = entry["expressions"][0].as_str().unwrap();
        let filter = match Filter::new(expression, &options, &corpus::names::Table) {
            Ok(filter) => filter,
            Err(error) => {
                println!("{expression}: {error}");
                continue;
            }
        };
        let loaded = Loaded::new(filter);
        filters += 1;
        let name = text(&entry, "name");
        for packet in &packets {
            let one_in = if packet.link == options.link.number() {
                16
            } else {
                256
            };
            if random(&mut seed).is_multiple_of(one_in) {
                let lengths = lengths(packet, &mut seed);
                loaded.assert_alike(name, &packet.bytes, &lengths);
                runs += lengths.len();
            }
        }
    }
    (filters, runs)
}

/// Runs every filter for which the corpus has packets and values. Returns the numbers of filters and runs.
pub fn corpus_values(at: FilterTarget) -> (usize, usize) {
    let (mut filters, mut runs) = (0, 0);
    for entry in entries("apply.json") {
        let path = corpus::packets::folder("filters/captures").join(text(&entry, "capture"));
        let packets = corpus::packets::packets_of(&path);
        let mut options = FilterOptions::new(LinkType::from_number(packets[0].link));
        options.target = at;
        options.snaplen = packets[0].snaplen.max(1);
        // One packet has a hundred headers.
        options.chain_headers = 110;
        let expression = text(&entry, "expression");
        let Ok(filter) = Filter::new(expression, &options, &corpus::names::Table) else {
            continue;
        };
        let loaded = Loaded::new(filter);
        filters += 1;
        let expected = entry["results"].as_array().unwrap();
        for (packet, value) in packets.iter().zip(expected) {
            let length = packet.bytes.len();
            let is_whole = length == packet.original_len as usize;
            if is_whole && can_run(&packet.bytes, at) {
                let found = loaded.test_run(&packet.bytes);
                let name = text(&entry, "name");
                assert_eq!(
                    Some(u64::from(found)),
                    value.as_u64(),
                    "{name}: {expression}"
                );
                runs += 1;
            }
            let lengths = [length, length / 2, length / 3];
            loaded.assert_alike(expression, &packet.bytes, &lengths);
            runs += lengths.len();
        }
    }
    (filters, runs)
}

/// Tests a filter with the maximum number of steps.
pub fn longest_chain(at: FilterTarget) {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = at;
    options.chain_headers = u32::MAX;
    let filter = Filter::new("ip6 protochain 17", &options, &NoNames).unwrap();
    let loaded = Loaded::new(filter);
    let mut packet = vec![0; 14 + 40 + 8 * 400];
    packet[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
    // 400 headers of destination options, then one of UDP.
    packet[20] = 60;
    for header in packet[54..].chunks_exact_mut(8) {
        header[0] = 60;
    }
    let last = packet.len() - 8;
    packet[last] = 17;
    let whole = packet.len();
    assert_eq!(
        loaded.assert_alike("chain", &packet, &[whole, whole - 8]),
        1
    );
}
