//! Every message that netlink-packet-route knows is read by it as by us: what the kernel tells, and what we ask
//! for. What one of the two does not know is named in `names.rs`.

mod compare;
mod fix;
mod link_kind;
mod names;
mod recorded;
mod requests;
mod route_kind;
mod rows;
mod spec;
mod theirs;
mod values;
