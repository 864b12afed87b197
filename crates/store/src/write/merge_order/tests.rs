//! Plans, compared with a stable sort of all packets by time stamp.

use super::*;

/// A generator of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// The source and the place of each packet, as planned in steps of at most `most` packets.
fn planned(sources: &[Source<'_>], most: u64) -> Vec<(usize, usize)> {
    let mut order = MergeOrder::default();
    order.begin(sources);
    let mut done = vec![0; sources.len()];
    let mut packets = Vec::new();
    loop {
        let runs = order.plan(sources, most).to_vec();
        if runs.is_empty() {
            return packets;
        }
        let before = packets.len();
        for run in runs {
            let number = run.source as usize;
            assert!(run.end > done[number], "a run has packets");
            packets.extend((done[number]..run.end).map(|place| (number, place as usize)));
            done[number] = run.end;
        }
        assert!((packets.len() - before) as u64 <= most);
    }
}

#[test]
fn plans_are_the_stable_order_of_time_stamps_up_to_the_end_of_a_source_that_continues() {
    let mut numbers = Numbers(5);
    for round in 0..2000_u64 {
        let count = 1 + numbers.below(9) as usize;
        // From single packets in turn to long runs, with and without equal time stamps.
        let (run, span) = (1 + numbers.below(40), 1 + numbers.below(2000));
        let mut indexes = vec![Vec::new(); count];
        for time_ns in 0..numbers.below(2500) {
            let time_ns = if round % 2 == 0 {
                time_ns
            } else {
                time_ns * span / 2500
            };
            let source = if numbers.below(run) == 0 {
                numbers.below(count as u64)
            } else {
                time_ns / 50 % count as u64
            };
            indexes[source as usize].push(IndexEntry {
                time_ns,
                start: 0,
                end: 0,
            });
        }
        let sources: Vec<_> = indexes
            .iter()
            .map(|index| Source {
                index,
                records: &[],
                is_adjacent: true,
                continues: !index.is_empty() && numbers.below(4) == 0,
            })
            .collect();
        let mut expected: Vec<_> = (sources.iter().enumerate())
            .flat_map(|(number, source)| {
                let places = source.index.iter().enumerate();
                places.map(move |(place, entry)| (entry.time_ns, number, place))
            })
            .collect();
        expected.sort_unstable();
        let end = expected.iter().position(|&(_, number, place)| {
            sources[number].continues && place + 1 == sources[number].index.len()
        });
        expected.truncate(end.map_or(expected.len(), |end| end + 1));
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(_, number, place)| (number, place))
            .collect();
        let most = if numbers.below(2) == 0 {
            u64::MAX
        } else {
            1 + numbers.below(700)
        };
        assert_eq!(planned(&sources, most), expected, "round {round}");
    }
}

/// Alternation is the worst case: each plan is full of runs of one packet.
#[test]
fn a_plan_is_bounded_where_each_packet_is_of_another_source() {
    let entry = |time_ns| IndexEntry {
        time_ns,
        start: 0,
        end: 0,
    };
    for count in 2..5 {
        let index = |number| {
            (0..10_000)
                .map(move |n| entry(n * count + number))
                .collect()
        };
        let indexes: Vec<Vec<_>> = (0..count).map(index).collect();
        let sources: Vec<_> = indexes
            .iter()
            .map(|index| Source {
                index,
                records: &[],
                is_adjacent: true,
                continues: false,
            })
            .collect();
        let mut order = MergeOrder::default();
        order.begin(&sources);
        assert!(order.plan(&sources, u64::MAX).len() <= PLANNED);
        assert_eq!(planned(&sources, u64::MAX).len() as u64, count * 10_000);
    }
}
