//! Captures over rpcap, as a client and as a server.

mod captures;
mod failures;
