//! HTML pages in one file: text, tables and charts, without scripts and without anything from the network.
//!
//! Every text is escaped here, so that callers may pass what strangers wrote. The page forbids scripts and connections to the
//! browser, too (Content-Security-Policy). A chart is drawn for wide and for narrow windows, and its table is below it.

pub mod chart;
mod html;
mod unprintable;

pub use chart::{Bars, Panel, Panels};
pub use html::{Column, Page, ROWS_MAX, Table};
pub use unprintable::is_unprintable;
