//! Links, in the words of ip-link(8).

mod brief;
mod forms;
mod json;
mod property;
mod read;
mod spelled;
mod text;
mod usual;
mod words;

pub use brief::{json as brief_json, text as brief};
pub use json::link as json_of;
pub use text::{Part, counters, link as text_of};
pub use words::group;
