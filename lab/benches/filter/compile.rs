//! Measures the time to compile an expression.

use std::hint::black_box;
use std::time::Duration;

use crate::harness::{Column, Report, column, thread_time, thread_time_since};
use crate::{Row, engine};

/// Minimum time per figure; faster compilations are repeated.
const LEAST: Duration = Duration::from_millis(5);
const MOST_REPEATS: u32 = 1000;

const COLUMNS: [Column; 3] = [
    column("text to graph", 1.0, 0),
    column("graph to native code", 1.0, 0),
    column("libpcap", 1.0, 0),
];

pub fn measure(row: &Row, report: &mut Report) {
    let filter = engine::ours(row);
    for _ in report.rounds(&format!("compiling {}", row.name)) {
        let libpcap = row.is_for_libpcap.then(|| time_us(|| engine::libpcap(row)));
        let figures = [
            time_us(|| engine::ours(row)),
            time_us(|| filter.native().expect("code")),
            libpcap.unwrap_or(f64::NAN),
        ];
        report
            .table("Compiling, µs", &COLUMNS)
            .add(&row.name, &figures);
    }
}

fn time_us<T>(mut make: impl FnMut() -> T) -> f64 {
    let start = thread_time();
    for repeats in 1.. {
        black_box(make());
        let passed = thread_time_since(start);
        if passed >= LEAST || repeats == MOST_REPEATS {
            return passed.as_secs_f64() * 1e6 / f64::from(repeats);
        }
    }
    unreachable!("the last repeat returns")
}
