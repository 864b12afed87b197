//! What a capture is configured to do, and whether that is possible: nothing here opens anything.

pub mod backend;
pub mod description;
pub mod error;
pub mod interface_plan;
pub mod mode;
pub mod options;
pub mod xdp_selection;
