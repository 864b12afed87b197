//! The extension of `tapline_pcap.h`: the whole account of a capture.

use std::ffi::c_int;

use crate::abi::ERROR;
use crate::guard::guard_with;
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

/// Writes the account of a capture of one interface. See `tapline_pcap.h`.
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
        // SAFETY: the caller's place, whose size field is set.
        let Some(place) = (unsafe { place.as_mut() }) else {
            return state.fail(ERROR, "a null pointer was supplied for the account");
        };
        let size = size_of::<tapline_pcap_account>() as u64;
        if place.size != size {
            let text = format!("the account has {} bytes, {size} expected", place.size);
            return state.fail(ERROR, &text);
        }
        let Source::Live(live) = &mut state.source else {
            return state.fail(ERROR, "only a capture of one interface has an account");
        };
        let (account, _) = live.account();
        let number = |known: Option<u64>| known.unwrap_or(UNKNOWN);
        let (lost, waiting) = (account.lost, live.waiting());
        *place = tapline_pcap_account {
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
        0
    })
}
