//! Sending where the running kernel lacks what it needs.

mod txtime;
mod uplink;
