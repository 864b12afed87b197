//! The order in which packets of several sources are written: a tournament of their next packets.

use std::ops::Range;

use super::chunk::IndexEntry;

/// Runs that are planned at once, and then written together: as many as writev(2) takes (`UIO_MAXIOV`).
const PLANNED: usize = 1024;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// Number of the source.
    pub source: u32,
    /// Number of the first packet.
    pub first: u32,
    /// Number behind that of the last packet.
    pub end: u32,
    /// Where the record of the first packet begins.
    pub start_byte: u32,
    /// Where the record of the last packet ends.
    pub end_byte: u32,
}

impl Run {
    /// The records, in those of its source.
    pub fn bytes(&self) -> Range<usize> {
        self.start_byte as usize..self.end_byte as usize
    }
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
        self.runs.resize(PLANNED + 1, Run::default());
        let mut left = most;
        let mut winner = self.begin(sources);
        // Behind the last run. The one before the first has no packets.
        let mut runs = 1;
        self.runs[0] = Run {
            source: u32::MAX,
            ..Run::default()
        };
        while left > 0 && winner != NONE_LEFT && runs <= PLANNED {
            // The lower half of a key.
            let number = winner as u32;
            let source = &sources[number as usize];
            let place = self.next[number as usize];
            let entry = source.index[place as usize];
            // Which source is next cannot be predicted, so nothing here branches on it.
            let last = self.runs[runs - 1];
            let continues = last.source == number && last.end_byte == entry.start;
            runs += usize::from(!continues);
            let (first, start_byte) = if continues {
                (last.first, last.start_byte)
            } else {
                (place, entry.start)
            };
            self.runs[runs - 1] = Run {
                source: number,
                first,
                end: place + 1,
                start_byte,
                end_byte: entry.end,
            };
            self.next[number as usize] = place + 1;
            left -= 1;
            let next = source.index.get(place as usize + 1);
            if next.is_none() && source.continues {
                break;
            }
            winner = self.replay(number as usize, key(next, number));
        }
        &self.runs[1..runs]
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
