//! AF_XDP sockets.

mod counters;
mod loss;
mod metadata;
mod open;
mod queues;
mod receive;
mod send;
mod tap;
mod teardown;
