//! All tests of this crate in one program, with one module per subject.

mod support;

mod buffer_loss;
mod buffer_receive;
mod delivery;
mod divide;
mod fanout;
mod filter;
mod loss;
mod offload;
mod open;
mod receive;
mod relay;
mod share;
mod slots;
mod slots_untrusted;
mod soak;
mod tunnel;
mod vlan;
mod xdp_counters;
mod xdp_loss;
mod xdp_metadata;
mod xdp_open;
mod xdp_queues;
mod xdp_receive;
mod xdp_send;
mod xdp_tap;
mod xdp_teardown;
