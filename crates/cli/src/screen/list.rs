//! A list of which the window shows a part.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Key;

/// Which part of a list is shown, and which line is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    selected: usize,
    first: usize,
    /// Lines of the last window.
    page: usize,
}

impl Scroll {
    /// Moves the selection. Returns whether the key does that.
    pub fn press(&mut self, key: Key) -> bool {
        let page = self.page.max(1);
        self.selected = match key {
            Key::Up | Key::Char('k') => self.selected.saturating_sub(1),
            Key::Down | Key::Char('j') => self.selected.saturating_add(1),
            Key::PageUp => self.selected.saturating_sub(page),
            Key::PageDown | Key::Char(' ') => self.selected.saturating_add(page),
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => usize::MAX,
            _ => return false,
        };
        true
    }

    /// The part of a list of `len` lines that fits into `rows`, with the selected line in it.
    pub fn window(&mut self, len: usize, rows: usize) -> Range<usize> {
        self.page = rows;
        self.selected = self.selected.min(len.saturating_sub(1));
        let last = len.saturating_sub(rows);
        let lowest = (self.selected + 1).saturating_sub(rows);
        self.first = self.first.max(lowest).min(self.selected).min(last);
        self.first..(self.first + rows).min(len)
    }

    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The key that moves down scrolls at once: for text without a selected line.
    pub fn press_text(&mut self, key: Key) -> bool {
        let page = self.page.max(1);
        // The selected line is the last one of the window.
        if matches!(key, Key::Down | Key::Char('j')) && self.selected < self.first + page {
            self.selected = self.first + page - 1;
        }
        if matches!(key, Key::Up | Key::Char('k')) {
            self.selected = self.first;
        }
        self.press(key)
    }
}

/// Shows lines from the top of `area`.
pub fn show_lines<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    lines: impl IntoIterator<Item = Line<'a>>,
) {
    for (line, row) in lines.into_iter().zip(area.rows()) {
        frame.render_widget(line, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_line_is_always_shown() {
        let mut scroll = Scroll::default();
        assert_eq!(scroll.window(100, 10), 0..10);
        for (key, selected, shown) in [
            (Key::Down, 1, 0..10),
            (Key::PageDown, 11, 2..12),
            (Key::Up, 10, 2..12),
            (Key::Home, 0, 0..10),
            (Key::End, 99, 90..100),
            (Key::PageUp, 89, 89..99),
        ] {
            assert!(scroll.press(key));
            assert_eq!(scroll.window(100, 10), shown, "{key:?}");
            assert_eq!(scroll.selected(), selected, "{key:?}");
        }
        assert!(!scroll.press(Key::Char('x')));
        // The list became shorter, and the window larger.
        assert_eq!(scroll.window(5, 10), 0..5);
        assert_eq!(scroll.selected(), 4);
        assert_eq!(scroll.window(0, 0), 0..0);
    }

    #[test]
    fn text_scrolls_with_each_key() {
        let mut scroll = Scroll::default();
        assert_eq!(scroll.window(20, 10), 0..10);
        for (key, shown) in [
            (Key::Down, 1..11),
            (Key::Down, 2..12),
            (Key::Up, 1..11),
            (Key::End, 10..20),
            (Key::Up, 9..19),
        ] {
            assert!(scroll.press_text(key));
            assert_eq!(scroll.window(20, 10), shown, "{key:?}");
        }
    }
}
