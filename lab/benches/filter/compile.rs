//! How long it takes to make a program of a text.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::engine;
use crate::rows::Row;

/// Microseconds of one round.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From text to graph.
    pub front_us: f64,
    /// From graph to native code.
    pub native_us: f64,
    /// libpcap, from text to program.
    pub libpcap_us: Option<f64>,
}

/// Least time for one figure; what is faster is repeated.
const LEAST: Duration = Duration::from_millis(5);
const MOST_REPEATS: u32 = 1000;

pub fn measure(row: &Row, rounds: u32) -> Vec<Times> {
    let filter = engine::ours(row);
    let round = |_| Times {
        front_us: time(|| engine::ours(row)),
        native_us: time(|| filter.native().expect("code")),
        libpcap_us: row.is_for_libpcap.then(|| time(|| engine::libpcap(row))),
    };
    (0..rounds).map(round).collect()
}

fn time<T>(mut make: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for repeats in 1..=MOST_REPEATS {
        black_box(make());
        let passed = start.elapsed();
        if passed >= LEAST || repeats == MOST_REPEATS {
            return passed.as_nanos() as f64 / 1e3 / f64::from(repeats);
        }
    }
    unreachable!("the last repeat returns")
}
