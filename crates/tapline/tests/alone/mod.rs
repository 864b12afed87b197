//! Tests that run one at a time, after all others: their readers must get their CPU in time.

mod change_all;
mod change_filter;
mod delivery;
mod ping_stall;
mod readers;
mod send_cpus;
mod stall;
