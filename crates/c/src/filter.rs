//! Filters without a capture.

use std::mem::MaybeUninit;
use std::sync::Arc;

use tapline::filter::classic::Ancillary;
use tapline::filter::native::NativeProgram;
use tapline::filter::{CompiledFilter, DEFAULT_SNAPLEN, FilterOptions, LinkType};

use crate::arguments::{Options, Text, array, options};
use crate::error::tapline_error;
use crate::expression::ServiceNames;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::packet::tapline_packet;
use crate::status::tapline_status;

/// A compiled filter.
pub struct tapline_filter(());

/// What a filter is compiled for.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_filter_options {
    /// `sizeof(tapline_filter_options)`.
    pub size: usize,
    /// Link-layer header type of the packets (LINKTYPE_ of libpcap). Default: 1, Ethernet.
    pub link_type: u32,
    /// The result for a packet that matches: bytes to keep. Default: 262144.
    pub snaplen: u32,
}

// SAFETY: `repr(C)`, its size first, and integers after it: zeros are the defaults.
unsafe impl Options for tapline_filter_options {
    const NAME: &'static str = "tapline_filter_options";
}

/// An instruction of classic BPF: the kernel's `struct sock_filter`, and `struct bpf_insn` of libpcap.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_instruction {
    /// Operation.
    pub code: u16,
    /// Jump if true.
    pub jt: u8,
    /// Jump if false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// What all threads may use: nothing changes it.
struct Engine {
    filter: CompiledFilter,
    /// `None` where this CPU or the filter does not allow native code: the interpreter runs it then.
    native: Option<NativeProgram>,
}

impl Engine {
    /// The number of bytes to keep of a packet of `length` bytes on the wire.
    fn run(&self, bytes: &[u8], length: u32) -> u32 {
        match &self.native {
            Some(native) => native.run(bytes, length),
            None => self.filter.run(bytes, length, &Ancillary::default()),
        }
    }
}

struct Compiled {
    engine: Arc<Engine>,
    classic: Option<Vec<tapline_instruction>>,
}

impl Object for Compiled {
    type Handle = tapline_filter;
    type Shared = Arc<Engine>;
    const KIND: Kind = Kind::Filter;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Compiled> = Table::new();
        &TABLE
    }
}

/// Compiles a filter in the language of pcap-filter(7), to native code where possible. An empty text matches every
/// packet. Free it with `tapline_filter_free`.
///
/// Privileges: none. Errors: SYNTAX, with the position in the message, also for a condition that the link type does not
/// have; UNSUPPORTED link type above 65535.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_filter_compile(
    text: Text<'_>,
    filter_options: *const tapline_filter_options,
    out_filter: Option<&mut MaybeUninit<*mut tapline_filter>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_filter = out_filter.ok_or_else(|| Error::null("out_filter"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(filter_options) }?;
        let text = text.required("text")?;
        let number = if given.link_type == 0 {
            1
        } else {
            given.link_type
        };
        let number = u16::try_from(number).map_err(|_| {
            let text = format!("{number} is not a link type: link types have 16 bits");
            Error::new(tapline_status::Unsupported, text)
        })?;
        let mut wanted = FilterOptions::new(LinkType::from_number(number));
        wanted.snaplen = match given.snaplen {
            0 => DEFAULT_SNAPLEN,
            bytes => bytes,
        };
        let filter = CompiledFilter::new(text, &wanted, &ServiceNames)?;
        let engine = Arc::new(Engine {
            native: filter.native().ok(),
            filter,
        });
        let compiled = Compiled {
            engine: Arc::clone(&engine),
            classic: None,
        };
        out_filter.write(Compiled::table().insert(compiled, engine)?);
        Ok(tapline_status::Ok)
    })
}

/// Runs a filter on `count` packets. Writes for each the number of bytes to keep to `out_keep`, an array of the same
/// length: 0 rejects a packet. Does not allocate.
///
/// Errors: INVALID_ARGUMENT for a packet without bytes whose `captured_len` is not 0. The packets before it have been run.
///
/// Threads: any, also several at once. A filter that is freed meanwhile still runs to the end of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_filter_run(
    filter: *const tapline_filter,
    packets: *const tapline_packet,
    count: usize,
    out_keep: *mut u32,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        // SAFETY: an array of C.
        let packets = unsafe { array(packets, count, "packets") }?;
        if out_keep.is_null() && count > 0 {
            return Err(Error::null("out_keep"));
        }
        Compiled::table().shared(filter, |engine| {
            for (at, packet) in packets.iter().enumerate() {
                // SAFETY: a packet of C, with its bytes.
                let bytes = unsafe { array(packet.data, packet.captured_len as usize, "data") }?;
                let keep = engine.run(bytes, packet.len);
                // SAFETY: the caller's array has as many elements as there are packets.
                let place = unsafe { out_keep.add(at) };
                // SAFETY: an element of that array.
                unsafe { place.write(keep) };
            }
            Ok(tapline_status::Ok)
        })
    })
}

/// The filter as a program of classic BPF, for SO_ATTACH_FILTER or libpcap. Valid until the filter is freed.
///
/// Errors: UNSUPPORTED if it is too long for classic BPF.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_filter_classic(
    filter: *mut tapline_filter,
    out_instructions: Option<&mut MaybeUninit<*const tapline_instruction>>,
    out_count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_instructions = out_instructions.ok_or_else(|| Error::null("out_instructions"))?;
        let out_count = out_count.ok_or_else(|| Error::null("out_count"))?;
        Compiled::table().with(filter, |compiled| {
            if compiled.classic.is_none() {
                let program = compiled.engine.filter.classic();
                let program = program
                    .map_err(|error| Error::from_source(tapline_status::Unsupported, &error))?;
                let instructions = program.instructions().iter();
                let instructions = instructions.map(|instruction| tapline_instruction {
                    code: instruction.code,
                    jt: instruction.jt,
                    jf: instruction.jf,
                    k: instruction.k,
                });
                compiled.classic = Some(instructions.collect());
            }
            let instructions = compiled.classic.as_deref().unwrap_or_default();
            out_instructions.write(instructions.as_ptr());
            out_count.write(instructions.len());
            Ok(tapline_status::Ok)
        })
    })
}

/// Frees a filter. Does nothing if `filter` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_filter_free(
    filter: *mut tapline_filter,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !filter.is_null() {
            Compiled::table().remove(filter)?;
        }
        Ok(tapline_status::Ok)
    })
}
