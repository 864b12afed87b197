//! Links of every kind: tapline and iproute2 create the same links, show them alike, understand the same command line,
//! and print the same JSON.

mod bond;
mod bridge;
mod compare;
mod phases;
mod refusals;
mod stacked;
mod tunnels;
