//! The accounts of several readers as one.

use super::super::account::counters::shared_account;
use super::super::account::loss_account::Account;
use super::super::account::reader_time::ReaderTime;
use super::super::account::stamp_counts::TimestampCounts;
use super::super::account::summary::{
    CaptureSummary, Ended, InterfaceAccount, MergeSummary, ReaderAccount,
};
use super::options::OpenReader;

/// What a reader did, and what became of the packets that it delivered.
pub struct ReaderResult {
    pub reader: OpenReader,
    pub summary: CaptureSummary,
    /// Packets written after younger ones.
    pub late: u64,
    /// Packets that it delivered and that were not written.
    pub discarded: u64,
}

/// The summary of all readers, of which there is at least one. The file lost `writer` packets that it had accepted.
pub fn of_all(
    results: Vec<ReaderResult>,
    ended: Option<Ended>,
    merge: Option<MergeSummary>,
    writer: u64,
) -> CaptureSummary {
    let is_failure = ended.as_ref().is_some_and(Ended::is_failure);
    let has_merger = merge.is_some();
    let readers: Vec<_> = (results.iter())
        .map(|result| reader_account(result, is_failure))
        .collect();
    let mut account = shared_account(readers.iter().map(|reader| reader.account));
    account.delivered = account.delivered.saturating_sub(writer);
    account.lost.writer += writer;

    let summaries: Vec<_> = results.into_iter().map(|result| result.summary).collect();
    let mut links = links(&summaries);
    if let [link] = &mut links[..] {
        link.account = account;
    }
    let duration = summaries.iter().map(|summary| summary.duration).max();
    let times = summaries.iter().map(|summary| summary.reader_time);
    let merger = has_merger.then(|| merge.and_then(|merge| merge.time));
    let reader_time = times.chain(merger).reduce(|one, other| {
        let (one, other) = (one?, other?);
        Some(ReaderTime {
            ran: one.ran + other.ran,
            waited: one.waited + other.waited,
        })
    });
    let is_own = |summary: &CaptureSummary| !matches!(summary.ended, Ended::Stopped);
    let own = summaries.into_iter().find(is_own);
    let own = own.map_or(Ended::Stopped, |summary| summary.ended);
    CaptureSummary {
        ended: ended.unwrap_or(own),
        account,
        links,
        duration: duration.unwrap_or_default(),
        reader_time: reader_time.flatten(),
        readers,
        unread_queues: Vec::new(),
        merge,
    }
}

fn reader_account(result: &ReaderResult, is_failure: bool) -> ReaderAccount {
    let mut account: Account = result.summary.account;
    account.delivered -= result.discarded;
    if is_failure {
        account.lost.writer += result.discarded;
    } else {
        // They came after the packet limit.
        account.filtered = account.filtered.map(|filtered| filtered + result.discarded);
    }
    ReaderAccount {
        queue: result.reader.queue,
        cpu: result.reader.cpu,
        account,
        late: result.late,
        time: result.summary.reader_time,
    }
}

/// The accounts of the interfaces, each of which all readers share.
fn links(summaries: &[CaptureSummary]) -> Vec<InterfaceAccount> {
    let mut links = summaries[0].links.clone();
    for (number, link) in links.iter_mut().enumerate() {
        let parts = summaries.iter().map(|summary| &summary.links[number]);
        link.account = shared_account(parts.clone().map(|part| part.account));
        let stamps = parts.clone().map(|part| part.timestamp_counts);
        link.timestamp_counts = stamps.fold(TimestampCounts::default(), |sum, one| sum + one);
        link.rings = parts.map(|part| part.rings).sum();
    }
    links
}
