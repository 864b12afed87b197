//! What a hypervisor takes away.

use std::fs;

/// How often a trial is taken at most.
pub const TRIES: usize = 5;

/// The first trial in which a hypervisor left a processor alone, `cpu1`, or all of them, `cpu`, and which it was; the
/// last one and a number beyond [`TRIES`] if there was none. Times less than a hundredth of a second may not show.
pub fn undisturbed<T>(processor: &str, mut trial: impl FnMut() -> T) -> (T, usize) {
    let mut tries = 1;
    loop {
        let before = stolen(processor);
        let result = trial();
        let is_left_alone = stolen(processor) == before;
        if is_left_alone || tries == TRIES {
            return (result, tries + usize::from(!is_left_alone));
        }
        tries += 1;
    }
}

/// For how long a processor was with others while somebody here wanted it, in hundredths of a second.
fn stolen(processor: &str) -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let mut lines = text.lines().map(str::split_whitespace);
    let fields = lines.find_map(|mut fields| (fields.next()? == processor).then_some(fields));
    let field = fields.and_then(|mut fields| fields.nth(7));
    field.and_then(|field| field.parse().ok()).unwrap_or(0)
}
