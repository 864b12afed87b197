//! Opening interfaces: `pcap_create`, the settings, `pcap_activate`, `pcap_open_live`; and handles without packets.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use crate::datalinks::LINUX_SLL;
use crate::ffi::abi::{
    ERROR, ERROR_ACTIVATED, ERROR_IFACE_NOT_UP, ERROR_NO_SUCH_DEVICE, ERROR_NOT_ACTIVATED,
    ERROR_PERM_DENIED, ERROR_RFMON_NOTSUP, ERROR_TSTAMP_PRECISION_NOTSUP, MAX_SNAPLEN,
    PRECISION_MICRO, PRECISION_NANO, WARNING_TSTAMP_TYPE_NOTSUP,
};
use crate::ffi::guard::{guard, guard_with};
use crate::ffi::text::{report, status_text, text};
use crate::handle::{Source, State, pcap_t, reporting, state};
use crate::live::any::Any;
use crate::live::interface::Live;
use crate::live::settings::{ANY, Refusal, Settings};
use crate::wake::Wake;

/// The smallest snaplen of packets with a cooked header: the longest header and a byte.
const SMALLEST_COOKED: c_int = 21;

/// A handle for an interface; null means `any`. `pcap_activate` opens it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_create(device: *const c_char, errbuf: *mut c_char) -> *mut pcap_t {
    guard(ptr::null_mut(), || {
        // SAFETY: a string of C.
        let device = unsafe { text(device) }.unwrap_or(ANY);
        match Wake::new() {
            Ok(wake) => pcap_t::into_raw(
                State::new(Source::Created(Box::new(Settings::new(device)))),
                wake,
            ),
            Err(error) => {
                // SAFETY: the caller's buffer.
                unsafe { report(errbuf, &format!("eventfd: {error}")) };
                ptr::null_mut()
            }
        }
    })
}

/// Changes a handle that is not activated.
unsafe fn set(handle: *mut pcap_t, change: impl FnOnce(&mut State) -> c_int) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: promised by the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if state.is_created() {
            change(state)
        } else {
            state.fail(
                ERROR_ACTIVATED,
                "can't perform  operation on activated capture",
            )
        }
    })
}

unsafe fn setting(handle: *mut pcap_t, change: impl FnOnce(&mut Settings)) -> c_int {
    let change = |state: &mut State| {
        if let Source::Created(settings) = &mut state.source {
            change(settings);
        }
        0
    };
    // SAFETY: promised by the caller.
    unsafe { set(handle, change) }
}

/// Sets the maximum bytes of a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_snaplen(handle: *mut pcap_t, snaplen: c_int) -> c_int {
    let change = |state: &mut State| {
        state.snaplen = snaplen;
        0
    };
    // SAFETY: a handle of the caller.
    unsafe { set(handle, change) }
}

/// 0 and less, and more than any packet has, are the default.
fn limited(snaplen: c_int) -> c_int {
    if (1..=MAX_SNAPLEN).contains(&snaplen) {
        snaplen
    } else {
        MAX_SNAPLEN
    }
}

/// Sets promiscuous mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_promisc(handle: *mut pcap_t, promisc: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { setting(handle, |settings| settings.is_promiscuous = promisc != 0) }
}

/// Sets monitor mode, which `pcap_activate` refuses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_rfmon(handle: *mut pcap_t, rfmon: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { setting(handle, |settings| settings.is_monitor = rfmon != 0) }
}

/// 0: no interface can be put into monitor mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_can_set_rfmon(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        match &state.source {
            Source::Dead => {
                let text = "Rfmon mode doesn't apply on a pcap_open_dead pcap_t";
                state.fail(ERROR, text)
            }
            _ => 0,
        }
    })
}

/// Sets how long a call waits for packets, milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_timeout(handle: *mut pcap_t, timeout_ms: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { setting(handle, |settings| settings.timeout_ms = timeout_ms) }
}

/// Sets the size of the ring, bytes. Values that are not positive have no effect, as in libpcap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_buffer_size(handle: *mut pcap_t, bytes: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { setting(handle, |settings| settings.buffer_bytes = bytes.max(0)) }
}

/// Sets immediate mode: each packet is delivered at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_immediate_mode(handle: *mut pcap_t, immediate: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { setting(handle, |settings| settings.is_immediate = immediate != 0) }
}

/// Sets the EtherType to capture, 0 for all. Applies to `any`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_protocol_linux(handle: *mut pcap_t, protocol: c_int) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { setting(handle, |settings| settings.protocol = protocol) }
}

/// Sets the type of time stamps, one of [`pcap_list_tstamp_types`](crate::pcap_list_tstamp_types).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_tstamp_type(handle: *mut pcap_t, stamp_type: c_int) -> c_int {
    let change = |state: &mut State| {
        let is_offered = state.stamp_types().contains(&stamp_type);
        match &mut state.source {
            Source::Created(settings) if is_offered => settings.timestamp_type = stamp_type,
            _ => return WARNING_TSTAMP_TYPE_NOTSUP,
        }
        0
    };
    // SAFETY: a handle of the caller.
    unsafe { set(handle, change) }
}

/// Sets the precision of time stamps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_set_tstamp_precision(handle: *mut pcap_t, precision: c_int) -> c_int {
    let change = |state: &mut State| {
        if matches!(precision, PRECISION_MICRO | PRECISION_NANO) {
            state.precision = precision;
            0
        } else {
            ERROR_TSTAMP_PRECISION_NOTSUP
        }
    };
    // SAFETY: a handle of the caller.
    unsafe { set(handle, change) }
}

/// The precision of time stamps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_get_tstamp_precision(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        unsafe { state(handle) }.map_or(ERROR, |state| state.precision)
    })
}

/// The most bytes of a packet that the buffer for reading holds, as libpcap's ring has; not the size of the ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_bufsize(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        match &state.source {
            Source::Created(_) => ERROR_NOT_ACTIVATED,
            Source::Live(_) | Source::Any(_) => MAX_SNAPLEN,
            Source::Offline(file) => file.buffer_bytes(),
            Source::Dead => 0,
        }
    })
}

/// Opens the interface with the settings. Packets are queued from here on.
///
/// Requires `CAP_NET_RAW`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_activate(handle: *mut pcap_t) -> c_int {
    // SAFETY: a handle of the caller.
    unsafe { set(handle, activate) }
}

fn activate(state: &mut State) -> c_int {
    match try_activate(state) {
        Ok(Warning { status, text }) => state.fail(status, text),
        Err(Refusal { status, message }) => {
            set_errno(status);
            state.fail(status, &message)
        }
    }
}

/// Sets the error number for programs that print it: it says what the status says.
fn set_errno(status: c_int) {
    let number = match status {
        ERROR_NO_SUCH_DEVICE => libc::ENODEV,
        ERROR_PERM_DENIED => libc::EPERM,
        ERROR_IFACE_NOT_UP => libc::ENETDOWN,
        _ => return,
    };
    // SAFETY: no pointers are passed.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place of this thread.
    unsafe { place.write(number) };
}

/// What differs from the settings of a handle that was opened.
#[derive(Default)]
struct Warning {
    /// `PCAP_WARNING_…`, or 0.
    status: c_int,
    text: &'static str,
}

/// Opens the interface of a handle.
fn try_activate(state: &mut State) -> Result<Warning, Refusal> {
    let Source::Created(settings) = &state.source else {
        return Err(Refusal::of(ERROR_NOT_ACTIVATED));
    };
    let mut snaplen = limited(state.snaplen);
    if settings.is_monitor {
        // Missing privileges come first.
        Any::open(settings, 0)?;
        return Err(Refusal::of(ERROR_RFMON_NOTSUP));
    }
    let is_any = settings.device.as_c_str() == ANY;
    let mut warning = Warning::default();
    let (source, datalink) = if is_any {
        snaplen = snaplen.max(SMALLEST_COOKED);
        if settings.is_promiscuous {
            warning.text = "Promiscuous mode not supported on the \"any\" device";
        }
        let any = Any::open(settings, snaplen.unsigned_abs())?;
        (Source::Any(Box::new(any)), LINUX_SLL)
    } else {
        if settings.protocol != 0 {
            let message = "a protocol can be set for the interface \"any\" only";
            return Err(Refusal {
                status: ERROR,
                message: message.to_owned(),
            });
        }
        let device = settings.device.to_str();
        let device = device.map_err(|_| Refusal::of(ERROR_NO_SUCH_DEVICE))?;
        let (live, status) = Live::open(settings, device, snaplen.unsigned_abs())?;
        warning.status = status;
        let datalink = live.datalink();
        (Source::Live(Box::new(live)), datalink)
    };
    (state.source, state.datalink, state.snaplen) = (source, datalink, snaplen);
    Ok(warning)
}

/// `pcap_create`, the settings and `pcap_activate` in one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_open_live(
    device: *const c_char,
    snaplen: c_int,
    promisc: c_int,
    timeout_ms: c_int,
    errbuf: *mut c_char,
) -> *mut pcap_t {
    guard(ptr::null_mut(), || {
        // SAFETY: as promised to this function.
        let handle = unsafe { pcap_create(device, errbuf) };
        // SAFETY: just created, and nobody else has it.
        let Some(opened) = (unsafe { state(handle) }) else {
            return ptr::null_mut();
        };
        opened.snaplen = snaplen;
        let mut name = CString::default();
        if let Source::Created(settings) = &mut opened.source {
            settings.is_promiscuous = promisc != 0;
            settings.timeout_ms = timeout_ms;
            name.clone_from(&settings.device);
        }
        match try_activate(opened) {
            Ok(warning) => {
                opened.fail(0, warning.text);
                handle
            }
            Err(refused) => {
                let message = format!("{}: {}", name.to_string_lossy(), in_one(&refused));
                // SAFETY: the caller's buffer.
                unsafe { report(errbuf, &message) };
                // SAFETY: created above, and nobody else has it.
                unsafe { pcap_t::close(handle) };
                set_errno(refused.status);
                ptr::null_mut()
            }
        }
    })
}

/// Status and text of a refusal, for a caller that gets no status.
fn in_one(refused: &Refusal) -> String {
    let Refusal { status, message } = refused;
    let status = match *status {
        ERROR => return message.clone(),
        status => status_text(status).unwrap_or_default().to_string_lossy(),
    };
    match refused.status {
        ERROR_NO_SUCH_DEVICE | ERROR_PERM_DENIED => format!("{status} ({message})"),
        _ => status.into_owned(),
    }
}

/// A handle without packets, to compile filters and to write files.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_open_dead(datalink: c_int, snaplen: c_int) -> *mut pcap_t {
    pcap_open_dead_with_tstamp_precision(datalink, snaplen, PRECISION_MICRO.unsigned_abs())
}

/// As `pcap_open_dead`, for files with time stamps in microseconds or nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn pcap_open_dead_with_tstamp_precision(
    datalink: c_int,
    snaplen: c_int,
    precision: u32,
) -> *mut pcap_t {
    guard(ptr::null_mut(), || {
        let mut state = State::new(Source::Dead);
        state.datalink = datalink;
        state.snaplen = snaplen;
        state.precision = match precision.cast_signed() {
            PRECISION_NANO => PRECISION_NANO,
            _ => PRECISION_MICRO,
        };
        pcap_t::into_raw(state, Wake::without_sleep())
    })
}

/// Closes a handle. Does nothing with null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_close(handle: *mut pcap_t) {
    // SAFETY: a handle of the caller, who does not use it any more.
    guard((), || unsafe { pcap_t::close(handle) });
}
