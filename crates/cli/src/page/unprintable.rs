//! Characters that are not shown: anybody may have named an interface or a file.

/// Whether this controls a terminal, or is a mark of direction or a joiner: what such a mark surrounds looks like something else.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
