//! Every message that netlink-packet-route supports is parsed alike by it and by tapline: the kernel's replies and
//! tapline's requests. `names.rs` lists what only one of them supports.

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
