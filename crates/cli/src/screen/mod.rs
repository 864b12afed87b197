//! What jobs need to draw on a terminal: text in columns, small bars, and lines that are drawn over
//! themselves.

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
