//! Suggests a known word for a misspelled one.

/// The word that was probably meant by `typed`: the most similar one, if it differs by one letter, or by two if `typed` has at
/// least six. Two neighbouring letters in the wrong order count as one.
///
/// ```
/// use tapline_filter::similar_word;
///
/// assert_eq!(similar_word("prot", ["host", "port", "net"]), Some("port"));
/// assert_eq!(similar_word("eth0", ["host", "port", "net"]), None);
/// ```
pub fn similar_word<'w>(typed: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let allowed = match typed.len() {
        3..=5 => 1,
        6..=40 => 2,
        _ => return None,
    };
    let distances = words
        .into_iter()
        .map(|word| (strsim::osa_distance(typed, word), word));
    distances
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}
