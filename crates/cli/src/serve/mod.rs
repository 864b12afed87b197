//! `tapline serve`: captures for other programs.

mod report;
mod rpcap;

use crate::args::{Protocol, ServeArgs};
use crate::failure::{Exit, Failure};
pub use report::ClientCounts;

pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    match &args.protocol {
        Protocol::Rpcap(args) => rpcap::run(args),
    }
}
