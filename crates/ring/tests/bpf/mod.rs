//! Packets that XDP programs write into memory: BPF ring buffers and slots.

mod buffer_loss;
mod buffer_receive;
mod slots;
mod slots_untrusted;
