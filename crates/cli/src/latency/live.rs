//! What a terminal shows while packets are measured, drawn over itself.

use std::io;

use tapline::latency::Delays;

use super::bars::bars;
use super::delays::quantiles;
use crate::screen::{Canvas, Size, cut, width};
use crate::units::grouped;

/// The percentiles and the histogram of all packets so far.
#[derive(Debug, Default)]
pub struct Live {
    canvas: Canvas,
}

impl Live {
    pub fn draw(&mut self, delays: &Delays) -> io::Result<()> {
        let size = Size::of_window();
        self.canvas.draw(&lines(delays, size), size)
    }

    /// The summary takes its place.
    pub fn end(&mut self) -> io::Result<()> {
        self.canvas.end()
    }
}

/// As much as a window of this size has room for.
fn lines(delays: &Delays, size: Size) -> Vec<String> {
    let room = size.room();
    let packets = format!("{} packets", grouped(delays.histogram.count()));
    let mut lines = vec![packets];
    for part in quantiles(delays) {
        match lines.last_mut() {
            Some(line) if width(line) + 2 + width(&part) <= room => {
                line.push_str("  ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    lines.extend(bars(delays, room));
    if lines.len() > size.lines() {
        let left_out = lines.len() + 1 - size.lines();
        lines.truncate(size.lines() - 1);
        lines.push(format!("({left_out} more lines than the window has)"));
    }
    lines.iter().map(|line| cut(line, room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_fits_into_the_window() {
        let mut delays = Delays::default();
        for doubling in 4..30 {
            delays.record(0, 1 << doubling);
        }
        for (columns, rows) in [(200, 60), (100, 24), (80, 24), (40, 10), (12, 5), (1, 1)] {
            let drawn = lines(&delays, Size { columns, rows });
            assert!(drawn.len() < rows.max(2), "{drawn:?}");
            assert!(drawn.iter().all(|line| width(line) < columns), "{drawn:?}");
        }
        let all = lines(
            &delays,
            Size {
                columns: 100,
                rows: 60,
            },
        );
        assert!(all[0].starts_with("26 packets  min 16 ns  p50 "), "{all:?}");
        assert_eq!(all.len(), 27);
        let some = lines(
            &delays,
            Size {
                columns: 60,
                rows: 11,
            },
        );
        assert_eq!(some[9], "(19 more lines than the window has)");
    }
}
