use std::ops::Range;

/// The line of `text` that `span` starts on, and below it carets under the span.
///
/// Control characters are shown as blanks.
pub(crate) fn caret(text: &str, span: &Range<usize>) -> String {
    let start = span.start.min(text.len());
    let start = (0..=start)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[line_start..];
    let line = rest.split('\n').next().unwrap_or(rest);
    let clean = line.replace(|letter: char| letter.is_control(), " ");
    let before = text[line_start..start].chars().count();
    let wrong = text.get(start..span.end).unwrap_or("");
    let width = wrong.chars().count().clamp(1, line.chars().count().max(1));
    format!("{clean}\n{}{}", " ".repeat(before), "^".repeat(width))
}
