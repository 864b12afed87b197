//! `tapline ping`.

mod bounds;
mod changes;
mod json;
mod live;
mod metrics;
mod names;
mod paths;
mod respond;
mod text;
mod usage;
mod xdp;
