//! Sparklines.

/// Bar levels: the first is for zero, the second for the smallest other value.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];

/// A missing value, drawn with its own mark.
pub const MISSING: f64 = f64::INFINITY;

/// The character set of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparks {
    Unicode,
    Ascii,
}

impl Sparks {
    /// Selected by the locale.
    pub fn of_terminal() -> Self {
        // As in setlocale(3), the first that is set applies.
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let mut set = names.iter().filter_map(std::env::var_os);
        let locale = set.find(|value| !value.is_empty()).unwrap_or_default();
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") {
            Self::Unicode
        } else {
            Self::Ascii
        }
    }

    /// One bar per value, scaled to the largest.
    pub fn line(self, values: impl Iterator<Item = f64> + Clone) -> String {
        let (levels, missing) = match self {
            Self::Unicode => (BLOCKS, '×'),
            Self::Ascii => (ASCII, 'x'),
        };
        let there = values.clone().filter(|value| value.is_finite());
        let most = there.fold(0.0, f64::max);
        let level = |value: f64| {
            let reached = (1..8).filter(|&eighth| value > most * f64::from(eighth) / 8.0);
            usize::from(value > 0.0) + reached.count()
        };
        let bar = |value: f64| {
            if value.is_finite() {
                levels[level(value)]
            } else {
                missing
            }
        };
        values.map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_full_and_the_smallest_is_visible() {
        let bars = |values: &[f64], sparks: Sparks| sparks.line(values.iter().copied());
        let unicode = Sparks::Unicode;
        assert_eq!(bars(&[0.0, 1.0, 4.0, 8.0], unicode), " ▁▄█");
        assert_eq!(bars(&[0.0, 1e-9, 1e9], unicode), " ▁█");
        assert_eq!(bars(&[5.0, 5.0], Sparks::Ascii), "##");
        assert_eq!(bars(&[0.0, 0.0], unicode), "  ");
        assert_eq!(bars(&[], unicode), "");
    }

    #[test]
    fn missing_values_have_a_mark() {
        let values = [1.0, MISSING, 2.0];
        assert_eq!(Sparks::Unicode.line(values.into_iter()), "▄×█");
        assert_eq!(Sparks::Ascii.line(values.into_iter()), "=x#");
        assert_eq!(Sparks::Ascii.line([MISSING].into_iter()), "x");
    }
}
