//! Routes, rules and nexthop objects.

mod again;
mod nexthop;
mod refusals;
mod routes;
mod rule;
mod watch;
