//! What a screen shows, as text.

use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};

/// The lines of a window of this size, without the blanks at their ends and without the empty lines at the end.
pub fn drawn(columns: u16, rows: u16, render: impl FnOnce(&mut Frame<'_>)) -> String {
    let backend = TestBackend::new(columns, rows);
    let mut terminal = Terminal::new(backend).expect("a terminal");
    terminal.draw(render).expect("a drawing");
    let buffer = terminal.backend().buffer();
    let line = |row: u16| {
        let mut line = String::new();
        let mut column = 0;
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            line.push_str(symbol);
            // The cell behind a wide character is not shown.
            column += super::width(symbol).max(1) as u16;
        }
        line.trim_end().to_owned()
    };
    let lines: Vec<String> = (0..rows).map(line).collect();
    lines.join("\n").trim_end().to_owned()
}
