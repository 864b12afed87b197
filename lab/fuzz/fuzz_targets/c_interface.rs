//! What the C interface parses: netlink objects as fields, as JSON and as messages, refusals, items of a batch, option
//! structs, and filters with the packets they run on. The requests go to a fake kernel.
//!
//! The first four bytes choose the call, the verb, the object and the form; the rest is the caller's buffer.

#![no_main]

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ptr;

use tapline_c::*;

/// Calls `function` with places for its result and its error, and checks that it writes exactly one of them.
fn call<T: Copy>(
    function: impl FnOnce(&mut MaybeUninit<T>, &mut MaybeUninit<*mut tapline_error>) -> tapline_status,
) -> Option<T> {
    let (mut result, mut error) = (MaybeUninit::uninit(), MaybeUninit::new(ptr::null_mut()));
    let status = function(&mut result, &mut error);
    assert_ne!(status as i32, tapline_status::Internal as i32);
    // SAFETY: it was initialised above.
    let error = unsafe { error.assume_init() };
    assert_eq!((status as i32) < 0, !error.is_null());
    tapline_error_free(error);
    // SAFETY: a call that succeeds writes its result.
    (status as i32 == 0).then(|| unsafe { result.assume_init() })
}

/// Opens a handle on a fake kernel with a link.
fn open() -> *mut tapline_netlink {
    let fake = call(|fake, error| tapline_fake_kernel_new(Some(fake), Some(error)));
    let fake = fake.expect("a fake kernel");
    // SAFETY: zeros are the defaults.
    let mut options: tapline_netlink_options<'_> = unsafe { std::mem::zeroed() };
    (options.size, options.fake) = (size_of_val(&options), fake);
    // SAFETY: an option struct.
    let netlink = call(|netlink, error| unsafe {
        tapline_netlink_open(&raw const options, Some(netlink), Some(error))
    });
    tapline_fake_kernel_free(fake, None);
    let netlink = netlink.expect("a handle");
    change(
        netlink,
        1,
        1,
        1,
        br#"{"name":"eth7","linkinfo":{"info_kind":"dummy"}}"#,
    );
    netlink
}

fn change(netlink: *mut tapline_netlink, verb: u32, object: u32, form: u32, bytes: &[u8]) {
    // SAFETY: `bytes` has its length.
    call::<()>(|_, error| unsafe {
        let (start, length) = (bytes.as_ptr(), bytes.len());
        tapline_netlink_change(netlink, verb, object, form, start, length, Some(error))
    });
}

/// A list is freed once its bytes have been read.
fn free(list: Option<*mut tapline_list>) {
    if let Some(list) = list {
        let mut start = MaybeUninit::uninit();
        let length = call(|length, error| {
            tapline_list_bytes(list, Some(&mut start), Some(length), Some(error))
        });
        assert!(length.is_some());
        tapline_list_free(list, None);
    }
}

fn netlink(choice: u8, verb: u32, object: u32, form: u32, bytes: &[u8]) {
    let handle = open();
    let (start, length) = (bytes.as_ptr(), bytes.len());
    // SAFETY: in each call, `start` points to `length` bytes.
    match choice % 8 {
        0 => change(handle, verb, object, form, bytes),
        1 => free(call(|list, error| unsafe {
            tapline_netlink_create(handle, object, form, start, length, Some(list), Some(error))
        })),
        2 => free(call(|list, error| unsafe {
            tapline_netlink_get(handle, object, form, start, length, Some(list), Some(error))
        })),
        3 => free(call(|list, error| unsafe {
            tapline_netlink_list(handle, object, form, start, length, Some(list), Some(error))
        })),
        4 => free(call(|list, error| unsafe {
            tapline_netlink_lookup(handle, form, start, length, Some(list), Some(error))
        })),
        6 => refusal(verb, object, bytes),
        _ => {
            let batch = call(|batch, error| unsafe {
                tapline_netlink_run(handle, start, length, verb, Some(batch), Some(error))
            });
            if let Some(batch) = batch {
                for item in 0..=tapline_batch_count(batch) {
                    let mut failed = MaybeUninit::new(ptr::null_mut());
                    call(|state, error| {
                        tapline_batch_result(
                            batch,
                            item,
                            Some(state),
                            Some(&mut failed),
                            Some(error),
                        )
                    });
                    // SAFETY: it was initialised above.
                    tapline_error_free(unsafe { failed.assume_init() });
                }
                tapline_batch_free(batch, None);
            }
        }
    }
    // Whatever it holds can be listed.
    for object in 1..=8 {
        // SAFETY: no bytes.
        free(call(|list, error| unsafe {
            tapline_netlink_list(
                handle,
                object,
                form % 2,
                ptr::null(),
                0,
                Some(list),
                Some(error),
            )
        }));
    }
    tapline_netlink_close(handle, None);
}

/// The first byte is the length of the message, which precedes the reply.
fn refusal(verb: u32, object: u32, bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first() else {
        return;
    };
    let (message, reply) = rest.split_at(rest.len().min((*length).into()));
    // SAFETY: `message` and `reply` have their lengths.
    let refused = call::<()>(|_, error| unsafe {
        let (start, length) = (message.as_ptr(), message.len());
        let (reply, reply_length) = (reply.as_ptr(), reply.len());
        tapline_netlink_reply_error(
            verb,
            object,
            start,
            length,
            reply,
            reply_length,
            11,
            Some(error),
        )
    });
    assert!(refused.is_none());
}

/// The bytes up to a zero are the text, those after it the option struct and then the packet.
fn filter(bytes: &[u8]) {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    let text = CString::new(text).expect("no zero in it");
    // A struct may say that it is as long as this.
    let mut words = vec![0_u64; (1 << 16) / 8];
    for (word, eight) in words.iter_mut().zip(rest.chunks_exact(8)) {
        *word = u64::from_ne_bytes(eight.try_into().expect("eight"));
    }
    // SAFETY: a string that ends with a zero, and as many bytes as an option struct may have.
    let filter = call(|filter, error| unsafe {
        let options = words.as_ptr().cast::<tapline_filter_options>();
        let text = std::mem::transmute::<*const std::ffi::c_char, _>(text.as_ptr());
        tapline_filter_compile(text, options, Some(filter), Some(error))
    });
    let Some(filter) = filter else {
        return;
    };
    // SAFETY: zeros are a packet without bytes.
    let mut packet: tapline_packet = unsafe { std::mem::zeroed() };
    (packet.data, packet.captured_len, packet.len) =
        (rest.as_ptr(), rest.len() as u32, rest.len() as u32);
    let mut keep = 0;
    // SAFETY: one packet, and room for one result.
    call::<()>(|_, error| unsafe {
        tapline_filter_run(filter, &raw const packet, 1, &raw mut keep, Some(error))
    });
    tapline_filter_free(filter, None);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(([choice, verb, object, form], rest)) = bytes.split_first_chunk() else {
        return;
    };
    if choice % 8 == 7 {
        filter(rest);
    } else {
        netlink(
            *choice,
            (*verb).into(),
            (*object).into(),
            (*form).into(),
            rest,
        );
    }
});
