//! What became of every packet: counters, the account, live figures and the summary.

pub mod counters;
pub mod interface_filter;
pub mod kernel_filter;
pub mod link_poller;
pub mod loss_account;
pub mod reader_time;
pub mod stamp_counts;
pub mod summary;
