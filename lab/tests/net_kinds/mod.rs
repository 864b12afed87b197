//! Links of every kind: made by us and by iproute2 they are the same, to iproute2 and to us; the words of
//! its command line mean to us what they mean to it; its JSON is ours.

mod bond;
mod bridge;
mod compare;
mod phases;
mod refusals;
mod stacked;
mod tunnels;
