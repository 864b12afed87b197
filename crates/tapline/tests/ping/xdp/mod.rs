//! The XDP back end of ping.

mod follows;
mod forged;
mod kernels;
mod limits;
mod neighbours;
mod runs;
mod sources;
mod sweeps;
