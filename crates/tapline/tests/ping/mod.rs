//! Pings with every back end, and the responder.

mod answers;
mod changes;
mod errors;
mod limits;
mod neighbours;
mod reply_batches;
mod respond;
mod ring;
mod runs;
mod settings;
mod xdp;
