//! The order in which packets of several sources are written: a tournament of their next packets.

use super::chunk::IndexEntry;

/// Runs that are planned at once. They are copied after that: a processor that guesses the next source wrongly then
/// does not wait for the bytes of a packet, which are loaded meanwhile.
const PLANNED: usize = 512;

/// Greater than the key of every packet.
const NONE_LEFT: u128 = u128::MAX;

/// Packets of a chunk, oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'c> {
    pub index: &'c [IndexEntry],
    /// What the index refers to.
    pub records: &'c [u8],
    /// Other packets come after these, so none of another source may follow the last one.
    pub continues: bool,
}

/// Packets of a source that follow each other in its chunk and in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Number of the source.
    pub source: u32,
    /// Number of the first packet.
    pub first: u32,
    /// Number behind that of the last packet.
    pub end: u32,
}

/// A loser tree. Keeps its memory.
///
/// A key is a time stamp and, below it, the number of a source: of packets with the same time stamp that of the first
/// source wins.
#[derive(Debug, Default)]
pub(super) struct MergeOrder {
    /// Node `n` has the children `2n` and `2n + 1`; behind the nodes come the sources. Each node from 1 on has the key
    /// that lost there.
    losers: Vec<u128>,
    /// The keys that won, while the tree is made.
    winners: Vec<u128>,
    /// The next packet of each source.
    next: Vec<u32>,
    runs: Vec<Run>,
}

impl MergeOrder {
    /// The next runs, oldest packet first: at most `most` packets, and none behind the end of a source that
    /// [continues](Source::continues). There is one unless all sources are empty or `most` is 0.
    pub(super) fn runs(&mut self, sources: &[Source<'_>], most: u64) -> &[Run] {
        self.runs.clear();
        let mut left = most;
        let mut winner = self.begin(sources);
        while left > 0 && winner != NONE_LEFT && self.runs.len() < PLANNED {
            // The lower half of a key.
            let number = winner as u32;
            let source = &sources[number as usize];
            let place = self.next[number as usize];
            let entry = source.index[place as usize];
            let record = source.records.get(entry.start as usize..entry.end as usize);
            abi::prefetch::prefetch(record.unwrap_or_default());
            self.add(number, place, source.index);
            self.next[number as usize] = place + 1;
            left -= 1;
            let next = source.index.get(place as usize + 1);
            if next.is_none() && source.continues {
                break;
            }
            winner = self.replay(number as usize, key(next, number));
        }
        &self.runs
    }

    /// Adds packet `place` of a source.
    #[inline]
    fn add(&mut self, source: u32, place: u32, index: &[IndexEntry]) {
        // In a sorted chunk the packet before may be elsewhere.
        let is_adjacent = || index[place as usize - 1].end == index[place as usize].start;
        match self.runs.last_mut() {
            Some(run) if run.source == source && is_adjacent() => run.end = place + 1,
            _ => self.runs.push(Run {
                source,
                first: place,
                end: place + 1,
            }),
        }
    }

    /// Makes the tree of the first packets. Returns the key of the oldest.
    fn begin(&mut self, sources: &[Source<'_>]) -> u128 {
        let leaves = sources.len().next_power_of_two();
        self.next.clear();
        self.next.resize(sources.len(), 0);
        self.losers.clear();
        self.losers.resize(leaves, NONE_LEFT);
        self.winners.clear();
        self.winners.resize(2 * leaves, NONE_LEFT);
        for (number, source) in (0..).zip(sources) {
            self.winners[leaves + number as usize] = key(source.index.first(), number);
        }
        for node in (1..leaves).rev() {
            let (one, other) = (self.winners[2 * node], self.winners[2 * node + 1]);
            (self.winners[node], self.losers[node]) = (one.min(other), one.max(other));
        }
        self.winners[1]
    }

    /// Gives a source that has won its next key. Returns the key that wins then.
    #[inline]
    fn replay(&mut self, number: usize, key: u128) -> u128 {
        let mut winner = key;
        let mut node = usize::midpoint(self.losers.len(), number);
        while node > 0 {
            let loser = self.losers[node];
            (winner, self.losers[node]) = (winner.min(loser), winner.max(loser));
            node /= 2;
        }
        winner
    }
}

#[inline]
fn key(entry: Option<&IndexEntry>, number: u32) -> u128 {
    entry.map_or(NONE_LEFT, |entry| {
        u128::from(entry.time_ns) << 64 | u128::from(number)
    })
}
