//! Links, in the words of ip-link(8).

mod brief;
mod counters;
mod forms;
mod json;
mod owner;
mod property;
mod read;
mod spelled;
mod text;
mod usual;
mod words;

pub use brief::{json as brief_json, text as brief};
pub use counters::text as counters_of;
pub use json::link as json_of;
pub use text::{Part, link as text_of};
pub use words::group;
