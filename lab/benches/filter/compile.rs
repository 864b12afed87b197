//! How long it takes to make a program of a text.

use std::hint::black_box;

use crate::rows::Row;
use crate::{clock, engine};

/// Microseconds of one round.
#[derive(Clone, Copy, Debug)]
pub struct Microseconds {
    /// From text to graph.
    pub front: f64,
    /// From graph to native code.
    pub native: f64,
    /// libpcap, from text to program.
    pub libpcap: Option<f64>,
}

/// Least time for one figure, nanoseconds; what is faster is repeated.
const LEAST_NS: u64 = 5_000_000;
const MOST_REPEATS: u32 = 1000;

pub fn measure(row: &Row, rounds: u32) -> Vec<Microseconds> {
    let filter = engine::ours(row);
    let round = |_| Microseconds {
        front: time(|| engine::ours(row)),
        native: time(|| filter.native().expect("code")),
        libpcap: row.is_for_libpcap.then(|| time(|| engine::libpcap(row))),
    };
    (0..rounds).map(round).collect()
}

fn time<T>(mut make: impl FnMut() -> T) -> f64 {
    let start = clock::now_ns();
    for repeats in 1..=MOST_REPEATS {
        black_box(make());
        let passed_ns = clock::now_ns() - start;
        if passed_ns >= LEAST_NS || repeats == MOST_REPEATS {
            return passed_ns as f64 / 1e3 / f64::from(repeats);
        }
    }
    unreachable!("the last repeat returns")
}
