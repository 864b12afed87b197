//! Small bars: how a number went.

/// Levels of a bar, from nothing at all; the second is for the least that is something.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];

/// One bar for each value, the largest full.
pub fn line(values: impl Iterator<Item = f64> + Clone, is_unicode: bool) -> String {
    let levels = if is_unicode { BLOCKS } else { ASCII };
    let most = values.clone().fold(0.0, f64::max);
    let level = |value: f64| {
        let reached = (1..8).filter(|&eighth| value > most * f64::from(eighth) / 8.0);
        usize::from(value > 0.0) + reached.count()
    };
    values.map(|value| levels[level(value)]).collect()
}

/// Whether the characters of the terminal are those of Unicode.
pub fn is_unicode() -> bool {
    // As setlocale(3): the first one that is set counts.
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let mut set = names.iter().filter_map(std::env::var_os);
    let locale = set.find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_full_and_the_least_is_seen() {
        let bars = |values: &[f64], is_unicode| line(values.iter().copied(), is_unicode);
        assert_eq!(bars(&[0.0, 1.0, 4.0, 8.0], true), " ▁▄█");
        assert_eq!(bars(&[0.0, 1e-9, 1e9], true), " ▁█");
        assert_eq!(bars(&[5.0, 5.0], false), "##");
        assert_eq!(bars(&[0.0, 0.0], true), "  ");
        assert_eq!(bars(&[], true), "");
    }
}
