//! Links, and what is special to their kinds.

mod kinds;
mod links;
mod newer;
mod newest;
mod tun;
