//! BPF ring buffers, one per CPU.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use abi::bpf::{MapLayout, MapType};

/// Creates a ring buffer of `bytes`, a power of two and a multiple of the page size.
pub(crate) fn ring_buffer(name: &str, bytes: u32) -> io::Result<abi::bpf::Map> {
    let layout = MapLayout {
        map_type: MapType::RingBuffer,
        key_bytes: 0,
        value_bytes: 0,
        max_entries: bytes,
    };
    abi::bpf::Map::create(&layout, name)
}

/// Creates the map in which a program finds the ring buffer of its CPU. `buffers` holds each CPU's number and buffer, in
/// ascending order. The program keeps a reference to it.
pub(crate) fn by_cpu(name: &str, buffers: &[(u32, BorrowedFd<'_>)]) -> io::Result<abi::bpf::Map> {
    let (highest, last) = buffers.last().ok_or(io::ErrorKind::InvalidData)?;
    let by_cpu = abi::bpf::Map::array_of(last.as_fd(), highest + 1, name)?;
    for (cpu, buffer) in buffers {
        let descriptor = buffer.as_raw_fd().to_ne_bytes();
        by_cpu.update(&cpu.to_ne_bytes(), &descriptor)?;
    }
    Ok(by_cpu)
}
