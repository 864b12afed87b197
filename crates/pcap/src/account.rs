//! The extension of `tapline_pcap.h`: the whole account of a capture.

use std::ffi::c_int;

use crate::ffi::abi::ERROR;
use crate::ffi::guard::guard_with;
use crate::handle::{Source, pcap_t, reporting, state};

/// A counter that is not known.
const UNKNOWN: u64 = u64::MAX;

/// What became of every packet: `received = delivered + filtered + waiting + lost_…`. Never reset, never wraps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tapline_pcap_account {
    /// `sizeof(struct tapline_pcap_account)`, set by the caller.
    pub size: u64,
    /// Packets that the interface offered.
    pub received: u64,
    /// Packets that the program got.
    pub delivered: u64,
    /// Packets that the filter refused.
    pub filtered: u64,
    /// Packets that are in the ring.
    pub waiting: u64,
    /// Lost by the interface.
    pub lost_nic: u64,
    /// Lost by the driver.
    pub lost_driver: u64,
    /// Lost because the ring was full.
    pub lost_ring: u64,
    /// Left in the ring when the capture ended.
    pub lost_reader: u64,
}

/// An account of another version of the header is at most this large: a larger number is no size.
const MAX_BYTES: u64 = 1 << 16;

/// Writes the account of a capture of one interface, as much of it as the caller's struct holds. See `tapline_pcap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_pcap_account_read(
    handle: *mut pcap_t,
    place: *mut tapline_pcap_account,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if place.is_null() {
            return state.fail(ERROR, "a null pointer was supplied for the account");
        }
        // SAFETY: the caller's struct begins with its size.
        let size = unsafe { place.cast::<u64>().read() };
        if !(8..=MAX_BYTES).contains(&size) || !size.is_multiple_of(8) {
            let text = format!("the size of the account is {size}, which no version of it has");
            return state.fail(ERROR, &text);
        }
        let Source::Live(live) = &mut state.source else {
            return state.fail(ERROR, "only a capture of one interface has an account");
        };
        let (account, _) = live.account();
        let number = |known: Option<u64>| known.unwrap_or(UNKNOWN);
        let (lost, waiting) = (account.lost, live.waiting());
        let account = tapline_pcap_account {
            size,
            received: number(account.received().map(|received| received + waiting)),
            delivered: account.delivered,
            filtered: number(account.filtered),
            waiting,
            lost_nic: number(lost.nic),
            lost_driver: number(lost.driver),
            lost_ring: lost.ring,
            lost_reader: lost.reader,
        };
        let (size, place) = (size as usize, place.cast::<u8>());
        let known = size.min(size_of_val(&account));
        // SAFETY: both have as many bytes, and `account` is another object.
        unsafe { place.copy_from_nonoverlapping((&raw const account).cast(), known) };
        // SAFETY: inside the caller's struct, or its end.
        let unknown = unsafe { place.add(known) };
        // SAFETY: the rest of the caller's struct.
        unsafe { unknown.write_bytes(0, size - known) };
        0
    })
}
