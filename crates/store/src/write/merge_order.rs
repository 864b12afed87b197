//! The order in which packets of several sources are written: a comparison of two, or a tournament of their next packets.

use super::chunk::IndexEntry;

/// Runs that are planned at once, before any of their packets is touched.
const PLANNED: usize = 512;

/// Packets of two sources that are compared between two looks at longer runs; of more sources, packets of one source in a row
/// before such a look.
const STEPS: usize = 8;

/// The tournament prefetches the index of a source this many packets ahead: with many sources, the processor does not
/// recognise the reads as sequential.
const AHEAD: usize = 8;

/// Greater than the key of every packet.
const NONE_LEFT: u128 = u128::MAX;

/// Packets of a chunk, oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'c> {
    pub index: &'c [IndexEntry],
    /// What the index refers to.
    pub records: &'c [u8],
    /// The records follow each other in the order of the index.
    pub is_adjacent: bool,
    /// Other packets come after these, so none of another source may follow the last one.
    pub continues: bool,
}

impl<'c> Source<'c> {
    /// The first of `entries` whose records follow each other, and the others.
    #[inline]
    pub(super) fn adjacent<'e>(
        &self,
        entries: &'e [IndexEntry],
    ) -> (&'e [IndexEntry], &'e [IndexEntry]) {
        if self.is_adjacent {
            return (entries, &[]);
        }
        let mut pairs = entries.windows(2);
        let end = pairs.position(|pair| pair[0].end != pair[1].start);
        entries.split_at(end.map_or(entries.len(), |end| end + 1))
    }

    /// The records of `entries`, which follow each other.
    #[inline]
    pub(super) fn bytes(&self, entries: &[IndexEntry]) -> &'c [u8] {
        match entries {
            [] => &[],
            [first, ..] => {
                &self.records[first.start as usize..entries[entries.len() - 1].end as usize]
            }
        }
    }
}

/// Packets of a source that follow each other in the file: from the end of the source's run before, at first from its
/// first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// Number of the source.
    pub source: u32,
    /// Number behind that of the last packet.
    pub end: u32,
}

/// Plans the runs of some sources. Keeps its memory.
///
/// A single source is one run. Two sources are compared without a branch for each packet, which a processor would guess
/// wrongly whenever the source changes. More sources are in a loser tree: a key is a time stamp and, below it, the number
/// of a source. Of packets with the same time stamp that of the first source comes first. The end of a long run of a source is found by
/// galloping, with a number of comparisons that is logarithmic in its length.
#[derive(Debug, Default)]
pub(super) struct MergeOrder {
    /// Node `n` has the children `2n` and `2n + 1`; behind the nodes come the sources. Each node from 1 on has the key
    /// that lost there.
    losers: Vec<u128>,
    /// The keys that won, while the tree is made.
    winners: Vec<u128>,
    /// The key of the oldest packet.
    winner: u128,
    /// The next packet of each source.
    next: Vec<u32>,
    runs: Vec<Run>,
}

impl MergeOrder {
    /// Begins with the first packet of each source.
    pub(super) fn begin(&mut self, sources: &[Source<'_>]) {
        self.next.clear();
        self.next.resize(sources.len(), 0);
        if sources.len() > 2 {
            self.build(sources);
        }
    }

    /// The next runs of the sources with which this began, oldest packet first: at most `most` packets, and none behind the
    /// end of a source that [continues](Source::continues). Empty at that end, and if all sources are at their end.
    pub(super) fn plan(&mut self, sources: &[Source<'_>], most: u64) -> &[Run] {
        self.runs.clear();
        match sources {
            [] => {}
            [source] => self.plan_rest(0, source, most),
            [one, other] => self.plan_two(one, other, most),
            _ => self.plan_many(sources, most),
        }
        &self.runs
    }

    /// All packets left of a source.
    fn plan_rest(&mut self, number: u32, source: &Source<'_>, most: u64) {
        let next = &mut self.next[number as usize];
        let left = source.index.len() as u64 - u64::from(*next);
        let count = left.min(most) as u32;
        if count > 0 {
            *next += count;
            let end = *next;
            self.runs.push(Run {
                source: number,
                end,
            });
        }
    }

    fn plan_two(&mut self, one: &Source<'_>, other: &Source<'_>, most: u64) {
        let (a, b) = (one.index, other.index);
        let [mut i, mut j] = [self.next[0] as usize, self.next[1] as usize];
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let last = i.saturating_add(j).saturating_add(most);
        // One more: the first step begins a run.
        self.runs.resize(PLANNED + 1, Run::default());
        let runs = self.runs.as_mut_slice();
        let (mut count, mut source) = (0, u32::MAX);
        while i < a.len() && j < b.len() && count + STEPS < PLANNED {
            let left = last - i - j;
            // Bound: each round takes a packet or more.
            if left == 0 {
                break;
            }
            // A long run of either.
            let taken = [
                taken_until(&a[i..], b[j].time_ns.saturating_add(1)),
                taken_until(&b[j..], a[i].time_ns),
            ]
            .map(|taken| taken.min(left));
            if let Some(number) = taken.iter().position(|&taken| taken > 0) {
                let number = number as u32;
                i += taken[0];
                j += if number == 0 { 0 } else { taken[1] };
                count += usize::from(source != number);
                source = number;
                let end = if number == 0 { i } else { j } as u32;
                runs[count - 1] = Run {
                    source: number,
                    end,
                };
                continue;
            }
            let steps = STEPS.min(left).min(a.len() - i).min(b.len() - j);
            for _ in 0..steps {
                let takes_other = b[j].time_ns < a[i].time_ns;
                let number = u32::from(takes_other);
                i += usize::from(!takes_other);
                j += usize::from(takes_other);
                count += usize::from(source != number);
                source = number;
                let end = std::hint::select_unpredictable(takes_other, j, i) as u32;
                runs[count - 1] = Run {
                    source: number,
                    end,
                };
            }
        }
        self.runs.truncate(count);
        self.next.copy_from_slice(&[i as u32, j as u32]);
        let left = (last - i - j) as u64;
        // What is left of one source when the other has ended.
        if i == a.len() && !one.continues {
            self.plan_rest(1, other, left);
        } else if j == b.len() && !other.continues {
            self.plan_rest(0, one, left);
        }
    }

    fn plan_many(&mut self, sources: &[Source<'_>], most: u64) {
        let mut left = most;
        let mut winner = self.winner;
        // Packets of the winner in a row, since the last look at a longer run.
        let mut streak = 0;
        while left > 0 && winner != NONE_LEFT && self.runs.len() < PLANNED {
            // The lower half of a key.
            let number = winner as u32;
            let source = &sources[number as usize];
            let place = self.next[number as usize] as usize;
            if place == source.index.len() {
                // It continues.
                break;
            }
            let is_same = self.runs.last().is_some_and(|run| run.source == number);
            streak = if is_same { streak + 1 } else { 0 };
            let mut taken = 1;
            if streak == STEPS {
                streak = 0;
                let before_ns = self.before_runner_up(number);
                let run = taken_until(&source.index[place..], before_ns) as u64;
                taken = run.min(left).max(1) as usize;
            }
            let end = (place + taken) as u32;
            self.next[number as usize] = end;
            if let Some(entry) = source.index.get(end as usize + AHEAD - 1) {
                abi::prefetch::prefetch_value(entry);
            }
            match self.runs.last_mut() {
                Some(run) if run.source == number => run.end = end,
                _ => self.runs.push(Run {
                    source: number,
                    end,
                }),
            }
            left -= taken as u64;
            let next = source.index.get(place + taken);
            if next.is_none() && source.continues {
                // Its key stays the least, and nothing is planned any more.
                break;
            }
            winner = self.replay(number as usize, key(next, number));
        }
        self.winner = winner;
    }

    /// The time stamp from which on packets of source `number`, which has won, come after the next packet of another source.
    fn before_runner_up(&self, number: u32) -> u64 {
        let mut runner_up = NONE_LEFT;
        // The second best has lost to the winner.
        let mut node = usize::midpoint(self.losers.len(), number as usize);
        while node > 0 {
            runner_up = runner_up.min(self.losers[node]);
            node /= 2;
        }
        let time_ns = (runner_up >> 64) as u64;
        // The lower half of a key is the number of its source.
        time_ns.saturating_add(u64::from(number < runner_up as u32))
    }

    /// Makes the tree of the first packets.
    fn build(&mut self, sources: &[Source<'_>]) {
        let leaves = sources.len().next_power_of_two();
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
        self.winner = self.winners[1];
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

/// The number of packets below `before_ns` at the start of `index` if there are [`STEPS`] or more, or else 0.
#[inline]
fn taken_until(index: &[IndexEntry], before_ns: u64) -> usize {
    match index.get(STEPS - 1) {
        Some(entry) if entry.time_ns < before_ns => gallop(index, before_ns),
        _ => 0,
    }
}

/// The number of packets below `before_ns`, of which there are [`STEPS`] or more. The cost is logarithmic in it.
#[inline(never)]
fn gallop(index: &[IndexEntry], before_ns: u64) -> usize {
    let (mut low, mut high) = (STEPS, 2 * STEPS);
    // Bound: it doubles.
    while index
        .get(high - 1)
        .is_some_and(|entry| entry.time_ns < before_ns)
    {
        (low, high) = (high, 2 * high);
    }
    let between = &index[low..high.min(index.len())];
    low + between.partition_point(|entry| entry.time_ns < before_ns)
}

#[inline]
fn key(entry: Option<&IndexEntry>, number: u32) -> u128 {
    entry.map_or(NONE_LEFT, |entry| {
        u128::from(entry.time_ns) << 64 | u128::from(number)
    })
}

#[cfg(test)]
mod tests;
