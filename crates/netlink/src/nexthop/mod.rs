//! Nexthop objects and groups of them: where routes lead that name them by number.

mod group;
mod object;
mod verbs;
mod words;

pub use group::{ClockTicks, Group, GroupMember, GroupType, ResilientArgs};
pub use object::Nexthop;
