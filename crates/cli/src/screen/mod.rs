//! Live screens: a view that fills the terminal, its keys, and the plots on it; and the progress line on standard error.
//!
//! ```text
//! job ─▶ Screen::draw ─▶ ratatui ─▶ terminal          Screen::keys ◀─ crossterm ◀─ terminal
//!          text, sparklines, plots; a list that scrolls
//! ```

mod list;
mod plot;
mod progress;
mod spark;
mod terminal;
#[cfg(test)]
pub mod testing;
mod text;
mod theme;

pub use list::{Scroll, show_lines};
pub use plot::{Plot, Series};
pub use progress::{Progress, Status};
pub use spark::{Charset, MISSING};
pub use terminal::{Key, Screen, abandon, last_line, say, window};
pub use text::{cut, filled, fitted, printable, width};
pub use theme::{Theme, has_colors};
