//! Drawing on a terminal: text in columns, sparklines, keys, and lines redrawn in place.

mod canvas;
mod columns;
mod keys;
mod spark;
mod status;

pub use canvas::{Canvas, Size};
pub use columns::{cut, filled, fitted, width};
pub use keys::Keys;
pub use spark::{MISSING, Sparks};
pub use status::Status;
