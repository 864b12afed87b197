use super::NativeError;
use super::beside::Beside;
use crate::classic::Ancillary;
use crate::filter::Filter;
use abi::executable::Executable;
use std::fmt::Write;
use std::marker::PhantomData;
use std::mem::offset_of;

/// Code for one packet: its first byte, captured bytes, length on the wire, what is beside it.
type One = unsafe extern "C" fn(*const u8, usize, u32, *const Beside) -> u32;
/// Code for many: the first packet, how many, the first verdict.
type Many = unsafe extern "C" fn(*const Packet<'_>, usize, *mut u32);

/// What is beside a packet from a file.
pub(super) static NOTHING: Beside = Beside::NOTHING;

/// A packet as [`Program::run_batch`] takes it: where its bytes are, and its length on the wire.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet<'packet> {
    start: *const u8,
    bytes: usize,
    original_len: u32,
    lent: PhantomData<&'packet [u8]>,
}

// SAFETY: the pointer and the length are those of a `&[u8]`, which may go to other threads.
unsafe impl Send for Packet<'_> {}
// SAFETY: as above; nothing is changed through a `Packet`.
unsafe impl Sync for Packet<'_> {}

impl<'packet> Packet<'packet> {
    /// Where its fields are: the first byte's address, the captured bytes, the length on the wire.
    pub(super) const OFFSETS: [i32; 3] = [
        offset_of!(Packet<'static>, start).cast_signed() as i32,
        offset_of!(Packet<'static>, bytes).cast_signed() as i32,
        offset_of!(Packet<'static>, original_len).cast_signed() as i32,
    ];

    /// `bytes` is what was captured, `original_len` the packet's length on the wire in bytes.
    #[inline]
    pub fn new(bytes: &'packet [u8], original_len: u32) -> Self {
        Self {
            start: bytes.as_ptr(),
            bytes: bytes.len(),
            original_len,
            lent: PhantomData,
        }
    }
}

/// Native code of a filter. `Send` and `Sync`: threads may share one.
///
/// ```
/// use tapline_filter::native::Packet;
/// use tapline_filter::{Filter, LinkType, NoNames, Options};
///
/// let filter = Filter::new("ip", &Options::new(LinkType::Ethernet), &NoNames)?;
/// # if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
/// let program = filter.native()?;
/// let mut frame = [0; 60];
/// assert_eq!(program.run(&frame, 60), 0);
/// frame[12] = 8;
/// assert_eq!(program.run(&frame, 60), 262_144);
///
/// let mut verdicts = [0; 2];
/// program.run_batch(&[Packet::new(&frame, 60), Packet::new(&frame[..13], 60)], &mut verdicts);
/// assert_eq!(verdicts, [262_144, 0]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Program {
    one: One,
    many: Many,
    /// Where the two are.
    _code: Executable,
    /// What the code's addresses point to.
    _tables: Vec<Box<[u32]>>,
}

/// Machine code before it can be run.
pub(super) struct Code {
    /// Of type [`One`] at the start, of type [`Many`] at `many`.
    pub bytes: Vec<u8>,
    pub many: usize,
    /// What addresses in `bytes` point to.
    pub tables: Vec<Box<[u32]>>,
    /// The instructions, where they were asked for.
    pub text: String,
}

impl Filter {
    /// Native code for this machine, which gives what [`Filter::run`] gives.
    ///
    /// Costs less than a millisecond for an ordinary filter; long lists are hashed.
    ///
    /// # Errors
    /// [`NativeError`] where there is no native code: the caller walks the graph or runs the classic
    /// program instead.
    pub fn native(&self) -> Result<Program, NativeError> {
        Program::of(super::make(self, false)?)
    }

    /// The native code for people: its instructions, then its bytes in hex, 16 a line behind their
    /// offset; first the code for one packet, then that of [`Program::run_batch`].
    ///
    /// Names of registers are the processor's; addresses of sets are those of this call.
    ///
    /// # Errors
    /// Those of [`Filter::native`], but for memory.
    pub fn native_listing(&self) -> Result<String, NativeError> {
        let Code {
            bytes, mut text, ..
        } = super::make(self, true)?;
        for (line, bytes) in bytes.chunks(16).enumerate() {
            // Writing to a string does not fail.
            let _ = write!(text, "{:04x}:", line * 16);
            for byte in bytes {
                let _ = write!(text, " {byte:02x}");
            }
            text.push('\n');
        }
        Ok(text)
    }
}

impl Program {
    fn of(code: Code) -> Result<Self, NativeError> {
        let Code {
            bytes,
            many,
            tables,
            ..
        } = code;
        let code = Executable::new(&bytes).map_err(|source| NativeError::Memory { source })?;
        let (one, many) = (code.as_ptr(), code[many..].as_ptr());
        Ok(Self {
            // SAFETY: at the start of `code` stands a whole function of this type, made for this
            // machine (`Code`), in memory that can be run and lives as long as the `Program`.
            one: unsafe { std::mem::transmute::<*const u8, One>(one) },
            // SAFETY: as above, at the offset `many`.
            many: unsafe { std::mem::transmute::<*const u8, Many>(many) },
            _code: code,
            _tables: tables,
        })
    }

    /// How many bytes of `packet` to keep; 0 refuses it. Nothing is known beside the bytes.
    ///
    /// `packet` is what was captured, `original_len` the packet's length on the wire in bytes.
    /// Never allocates.
    #[inline]
    pub fn run(&self, packet: &[u8], original_len: u32) -> u32 {
        // SAFETY: the code reads `packet` within its length, `NOTHING` and the tables, all of which
        // live during the call, and writes nothing.
        unsafe {
            (self.one)(
                packet.as_ptr(),
                packet.len(),
                original_len,
                &raw const NOTHING,
            )
        }
    }

    /// As [`Program::run`], with what is known of the packet beside its bytes.
    #[inline]
    pub fn run_with(&self, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> u32 {
        let beside = Beside::of(ancillary);
        // SAFETY: as in `run`; `beside` lives during the call.
        unsafe {
            (self.one)(
                packet.as_ptr(),
                packet.len(),
                original_len,
                &raw const beside,
            )
        }
    }

    /// What [`Program::run`] gives for each of `packets`, written to the same place of `verdicts`.
    ///
    /// Faster than as many calls: the loop is part of the code.
    ///
    /// # Panics
    /// When the two are not of one length.
    pub fn run_batch(&self, packets: &[Packet<'_>], verdicts: &mut [u32]) {
        assert_eq!(packets.len(), verdicts.len(), "a verdict for each packet");
        // SAFETY: the code reads `packets.len()` packets, each within its length (a `Packet` is made
        // of a slice that is borrowed as long as it lives), writes as many verdicts, which is their
        // number, and reads `NOTHING` and the tables.
        unsafe { (self.many)(packets.as_ptr(), packets.len(), verdicts.as_mut_ptr()) }
    }
}
