//! How long a reader may be away while packets are few: blocks × the time of one.

use std::time::Duration;

use ring::{Backend, Delivery, Options};

use super::super::report::Report;
use super::timer::shown;

const ID: &str = "stall";
/// The delivery of a capture that nobody asked anything of.
const TARGET: Duration = Duration::from_micros(200);

/// Where a block that is not full is handed over every `block_ns`.
pub(super) fn check(block_ns: u64, report: &mut Report) {
    let options = Options {
        backend: Some(Backend::PacketV3),
        delivery: Delivery::Adaptive { target: TARGET },
        ..Options::default()
    };
    match options.block_count() {
        Ok(blocks) => {
            let blocks = blocks.unwrap_or(0) as u64;
            let most = shown(blocks.saturating_mul(block_ns));
            let block = shown(block_ns);
            report.can(
                ID,
                format!("a reader may be away for {most}: {blocks} blocks of {block} in a packet-v3 ring"),
            );
        }
        Err(error) => report.failed(ID, &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ring is laid out for twice the 200 ms that its documentation promises.
    #[test]
    fn the_usual_ring_survives_what_it_is_laid_out_for() {
        let away_ms = |block_ns| {
            let mut report = Report::default();
            check(block_ns, &mut report);
            let words: Vec<&str> = report.abilities[0].value.split(' ').collect();
            words[6].trim_end_matches(".0").parse::<u64>().unwrap()
        };
        assert!(away_ms(1_000_000) >= 400);
        assert_eq!(away_ms(10_000_000), away_ms(1_000_000) * 10);
    }
}
