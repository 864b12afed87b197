//! `pcap_t`: what a program holds, and how a call gets at it.
//!
//! A handle is a pointer, as libpcap's is, because a program may use one handle for millions of calls a second. The rules
//! are libpcap's, too: one thread at a time is in a call with a handle, except for `pcap_breakloop`, and nobody uses it
//! after `pcap_close`. The caller's function for packets may call back with the same handle, so no reference to the
//! handle's state is held while it runs.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int};

use tapline::filter::classic::ClassicProgram;

use crate::ffi::abi::{
    ERRBUF_BYTES, ERROR, ERROR_NOT_ACTIVATED, PRECISION_MICRO, pcap_pkthdr, pcap_stat,
};
use crate::ffi::text::report;
use crate::file::offline::Offline;
use crate::live::adapter::{self, HOST};
use crate::live::any::Any;
use crate::live::interface::Live;
use crate::live::settings::Settings;
use crate::packet::{Packet, Ready};
use crate::wake::Wake;

/// A capture, a file, or a handle that only compiles filters.
pub struct pcap_t {
    /// Any thread and any signal handler may use it.
    pub wake: Wake,
    state: UnsafeCell<State>,
}

/// What the calls with a handle share.
pub struct State {
    /// Where packets come from.
    pub source: Source,
    /// Link-layer header type, `DLT_…`.
    pub datalink: c_int,
    /// What a file says about the link-layer header beside its type, such as the length of a checksum.
    pub datalink_ext: u32,
    /// Maximum bytes of a packet. As the program set it until `pcap_activate`, and of a handle without packets.
    pub snaplen: c_int,
    /// `PCAP_TSTAMP_PRECISION_…`.
    pub precision: c_int,
    /// Calls that wait return at once instead.
    pub is_nonblocking: bool,
    /// Filter that runs in this process.
    pub filter: Option<ClassicProgram>,
    /// The header of the packet that `pcap_next` or `pcap_next_ex` returned.
    pub header: pcap_pkthdr,
    errbuf: [c_char; ERRBUF_BYTES],
}

/// Where packets come from.
pub enum Source {
    /// Created, not activated.
    Created(Box<Settings>),
    /// An interface.
    Live(Box<Live>),
    /// All interfaces.
    Any(Box<Any>),
    /// A file.
    Offline(Box<Offline>),
    /// Nowhere.
    Dead,
}

impl State {
    /// A state with defaults.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            datalink: 0,
            datalink_ext: 0,
            snaplen: 0,
            precision: PRECISION_MICRO,
            is_nonblocking: false,
            filter: None,
            header: pcap_pkthdr::EMPTY,
            errbuf: [0; ERRBUF_BYTES],
        }
    }

    /// Keeps an error text for `pcap_geterr`, and returns `status`.
    pub fn fail(&mut self, status: c_int, message: &str) -> c_int {
        // SAFETY: a buffer of that size.
        unsafe { report(self.errbuf.as_mut_ptr(), message) };
        status
    }

    /// The answer to what only an activated handle can do.
    pub fn not_activated(&mut self) -> c_int {
        let text = "This handle hasn't been activated yet";
        self.fail(ERROR_NOT_ACTIVATED, text)
    }

    /// The status of reading from a handle that never has packets; `None` if it may have some.
    pub fn unreadable(&mut self) -> Option<c_int> {
        let text = "Packets aren't available from a pcap_open_dead pcap_t";
        match self.source {
            Source::Created(_) => Some(self.not_activated()),
            Source::Dead => Some(self.fail(ERROR, text)),
            Source::Live(_) | Source::Any(_) | Source::Offline(_) => None,
        }
    }

    /// Whether `pcap_activate` has not been called.
    pub fn is_created(&self) -> bool {
        matches!(self.source, Source::Created(_))
    }

    /// Whether packets come from interfaces.
    pub fn is_live(&self) -> bool {
        matches!(self.source, Source::Live(_) | Source::Any(_))
    }

    /// The text of the last error.
    pub fn errbuf(&mut self) -> *mut c_char {
        self.errbuf.as_mut_ptr()
    }

    /// The next packet, if one is ready.
    #[inline]
    pub fn ready(&mut self) -> Result<Ready, String> {
        match &mut self.source {
            Source::Live(live) => live.ready(),
            Source::Any(any) => any.ready(self.filter.as_ref()),
            Source::Offline(file) => file.ready(self.snaplen, self.filter.as_ref()),
            // See `unreadable`.
            Source::Created(_) | Source::Dead => Ok(Ready::End),
        }
    }

    /// The header of a packet as the program sees it.
    #[inline]
    pub fn header_of(&self, packet: &Packet) -> pcap_pkthdr {
        let carried_s = u64::from(packet.carried_s);
        let fraction = packet.time_ns % 1_000_000_000 + carried_s * 1_000_000_000;
        let fraction = if self.precision == PRECISION_MICRO {
            fraction / 1000
        } else {
            fraction
        };
        pcap_pkthdr {
            ts: libc::timeval {
                tv_sec: (packet.time_ns / 1_000_000_000 - carried_s).cast_signed(),
                tv_usec: fraction.cast_signed(),
            },
            caplen: packet.captured,
            len: packet.len,
        }
    }

    /// The types of time stamps, `PCAP_TSTAMP_…`.
    pub fn stamp_types(&self) -> Vec<c_int> {
        let device = match &self.source {
            Source::Created(settings) => settings.device.to_str().unwrap_or_default(),
            Source::Live(live) => &live.device,
            Source::Any(_) | Source::Offline(_) | Source::Dead => return vec![HOST],
        };
        adapter::stamp_types(device)
    }

    /// The counters as libpcap defines them.
    pub fn statistics(&mut self) -> Result<pcap_stat, String> {
        match &mut self.source {
            Source::Live(live) => Ok(live.statistics()),
            Source::Any(any) => any.statistics(),
            Source::Offline(_) => Err("Statistics aren't available from savefiles".to_owned()),
            Source::Created(_) | Source::Dead => {
                Err("Statistics aren't available from a pcap_open_dead pcap_t".to_owned())
            }
        }
    }
}

impl pcap_t {
    /// Hands a handle to the program.
    pub fn into_raw(state: State, wake: Wake) -> *mut Self {
        Box::into_raw(Box::new(Self {
            wake,
            state: UnsafeCell::new(state),
        }))
    }

    /// Takes a handle back and closes it.
    ///
    /// # Safety
    /// `handle` is null or was returned by [`into_raw`](Self::into_raw), and nobody uses it any more.
    pub unsafe fn close(handle: *mut Self) {
        if !handle.is_null() {
            // SAFETY: promised by the caller.
            drop(unsafe { Box::from_raw(handle) });
        }
    }
}

/// The request to end the loop of a handle; `None` if it is null.
///
/// # Safety
/// `handle` is null or open.
pub unsafe fn wake<'a>(handle: *const pcap_t) -> Option<&'a Wake> {
    // SAFETY: promised by the caller; nobody ever has a mutable reference to this part.
    unsafe { handle.as_ref() }.map(|handle| &handle.wake)
}

/// The state of a handle; `None` if it is null.
///
/// # Safety
/// `handle` is null or open, no other thread is in a call with it, and no other reference to its state is alive.
pub unsafe fn state<'a>(handle: *mut pcap_t) -> Option<&'a mut State> {
    // SAFETY: promised by the caller.
    let handle = unsafe { handle.as_ref() }?;
    // SAFETY: promised by the caller: the only reference.
    Some(unsafe { &mut *handle.state.get() })
}

/// What [`guard_with`](crate::ffi::guard::guard_with) does after a panic in a call with a handle: the result is `failed`, and the handle has an error text.
///
/// # Safety
/// As [`state`], when the closure runs.
pub unsafe fn reporting<R>(handle: *mut pcap_t, failed: R) -> impl FnOnce() -> R {
    move || {
        // SAFETY: promised by the caller; the references of the body are gone.
        if let Some(state) = unsafe { state(handle) } {
            state.fail(ERROR, "internal error");
        }
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::guard::guard_with;
    use std::ffi::CStr;

    #[test]
    fn a_panic_leaves_a_text_in_the_handle() {
        let handle = pcap_t::into_raw(State::new(Source::Dead), Wake::without_sleep());
        // SAFETY: a handle of this test.
        let failed = unsafe { reporting(handle, ERROR) };
        let status = guard_with(failed, || panic!("no way"));
        // SAFETY: as above.
        let text = unsafe { state(handle) }.expect("a handle").errbuf();
        // SAFETY: a string of the handle.
        let text = unsafe { CStr::from_ptr(text) };
        assert_eq!((status, text), (ERROR, c"internal error"));
        // SAFETY: nobody uses it any more.
        unsafe { pcap_t::close(handle) };
        // SAFETY: null is no handle.
        let failed = unsafe { reporting(std::ptr::null_mut(), ERROR) };
        assert_eq!(guard_with(failed, || panic!("no way")), ERROR);
    }
}
