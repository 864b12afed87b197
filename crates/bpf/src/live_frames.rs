//! Sends frames through the XDP transmit path of a driver, without socket buffers.

pub(crate) mod program;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use abi::bpf::{BPF_F_TEST_XDP_LIVE_FRAMES, MapLayout, MapType, TestRun, open_raw_tracepoint};
use abi::namespace::{NamespaceError, NetNamespace};
use abi::region::Region;

use crate::Insn;
use crate::map::MapError;
use crate::program::{LoadError, Program, ProgramKind};
use crate::xdp::{XdpAttachError, XdpAttachMode, XdpLink};

const NAME: &str = "tapline_frames";

/// Where the kernel has handed frames to a driver (`bq_xmit_all`, kernel/bpf/devmap.c).
const HANDED_OVER: &CStr = c"xdp_devmap_xmit";

/// Where the kernel refuses to redirect a frame (`xdp_do_redirect_frame`, net/core/filter.c).
const NOT_REDIRECTED: &CStr = c"xdp_redirect_err";

/// Index of the loopback interface in a new network namespace (`LOOPBACK_IFINDEX`, include/net/flow.h).
const LOOPBACK: u32 = 1;

/// Frames that the kernel hands to the driver at once (`DEV_MAP_BULK_SIZE`, kernel/bpf/devmap.c). A batch is no larger:
/// the kernel would begin the next bulk before it hands over the one before.
pub(crate) const BATCH_FRAMES: u32 = 16;

/// A batch of equal frames, whose order does not matter.
const EQUAL_BATCH_FRAMES: u32 = 64;

/// Sends frames on one interface with `BPF_PROG_TEST_RUN`: an XDP program copies each into a page and redirects it to the
/// interface, whose driver sends it without a socket buffer.
///
/// ```text
/// push ─▶ records in shared memory ─▶ XDP program ─▶ device map ─▶ driver (ndo_xdp_xmit)
///                                      next record                  tracepoint counts what it took
/// ```
///
/// Frames leave in order. If the driver takes only some of a bulk, nothing behind these is sent:
/// [`send`](Self::send) returns how many left, and the caller pushes the others again. Equal frames need no copies
/// ([`send_equal`](Self::send_equal)).
///
/// Nothing is attached to the interface, and its receive side does not notice. The program is attached to the loopback
/// interface of a network namespace of its own, where no packet ever arrives: the kernel's dispatcher of XDP programs then
/// knows it already, and a test run does not wait some ten milliseconds for RCU.
///
/// # Source
/// `bpf_prog_test_run_xdp`, net/bpf/test_run.c; `bpf_dispatcher_change_prog`, kernel/bpf/dispatcher.c.
#[derive(Debug)]
#[doc(alias = "BPF_F_TEST_XDP_LIVE_FRAMES")]
pub struct LiveFrames {
    run: LiveRun,
    program: LiveProgram,
    /// Sends the frame as it is.
    equal: LiveProgram,
    /// Frames pushed, and bytes of their records.
    frames: u32,
    used: usize,
    /// The frame that the pages begin with: zeros, as long as the longest one pushed.
    template: Vec<u8>,
    longest: usize,
}

/// What test runs on one interface share: memory, and the programs that count what became of frames.
#[derive(Debug)]
pub(crate) struct LiveRun {
    /// Closed with this value, which ends the programs there.
    _tracepoints: [OwnedFd; 2],
    pub memory: Region,
    /// The memory and the interface, as maps of the programs.
    pub shared: abi::bpf::Map,
    pub device: abi::bpf::Map,
}

/// A program that sends, and its attachment where no packet arrives, which keeps it in the kernel's dispatcher.
#[derive(Debug)]
pub(crate) struct LiveProgram {
    program: Program,
    _dispatched: (XdpLink, NetNamespace),
}

/// What became of pushed frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveFramesSent {
    /// Frames that the driver took: the first ones.
    pub sent: u32,
    /// Frames behind them that were handed to the driver and that it did not take.
    pub refused: u32,
    /// The error with which the driver or the kernel refused; 0 if the driver had no room, ENODEV if the interface was
    /// deleted.
    pub errno: i32,
}

/// Live frames cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveFramesError {
    /// A map cannot be created.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A program cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The interface cannot be a destination: ENODEV if it does not exist, EOPNOTSUPP if its driver has no XDP transmit
    /// path.
    #[error("cannot redirect frames to interface {ifindex}")]
    Interface {
        /// Its index.
        ifindex: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// A namespace for the program cannot be created.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel has no live frames, and refused the program.
    #[error("live frames require Linux 5.18")]
    OldKernel(LoadError),
    /// The program cannot be attached there.
    #[error(transparent)]
    Attach(#[from] XdpAttachError),
    /// A tracepoint cannot be opened.
    #[error("cannot open tracepoint {name}")]
    Tracepoint {
        /// Its name.
        name: String,
        /// The kernel's error.
        source: io::Error,
    },
}

impl LiveFrames {
    /// The longest frame: what fits into a page of 4096 bytes beside the kernel's own data.
    ///
    /// # Source
    /// `bpf_prog_test_run_xdp` and `struct xdp_page_head`, net/bpf/test_run.c.
    pub const MAX_FRAME_BYTES: usize = 3328;

    /// Prepares to send on interface `ifindex` of the calling thread's network namespace. Sends nothing.
    ///
    /// # Errors
    /// [`LiveFramesError`].
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`; `CAP_SYS_ADMIN` for the namespace.
    /// # Kernel
    /// Linux 5.18.
    pub fn open(ifindex: u32) -> Result<Self, LiveFramesError> {
        let run = LiveRun::open(ifindex, NAME, program::MEMORY_BYTES)?;
        let [shared, device] = [run.shared.as_fd(), run.device.as_fd()];
        Ok(Self {
            program: LiveProgram::load(NAME, &program::send(shared, device))?,
            equal: LiveProgram::load(NAME, &program::send_equal(shared, device))?,
            run,
            frames: 0,
            used: 0,
            template: vec![0; Self::MAX_FRAME_BYTES],
            longest: 0,
        })
    }

    /// Adds a frame of 14 to [`MAX_FRAME_BYTES`](Self::MAX_FRAME_BYTES) bytes. Returns whether there was room for it.
    #[inline]
    pub fn push(&mut self, frame: &[u8]) -> bool {
        let record_bytes = program::record_bytes(frame.len());
        let is_valid = (14..=Self::MAX_FRAME_BYTES).contains(&frame.len());
        if !is_valid || self.used + record_bytes > program::RECORDS_BYTES {
            return false;
        }
        let at = program::RECORDS_AT + self.used;
        self.run
            .memory
            .write(at, &(frame.len() as u64).to_ne_bytes());
        self.run.memory.write(at + program::HEADER_BYTES, frame);
        self.used += record_bytes;
        self.frames += 1;
        self.longest = self.longest.max(frame.len());
        true
    }

    /// Sends the pushed frames and forgets them. Sends nothing if there are none.
    ///
    /// # Errors
    /// Errors of `BPF_PROG_TEST_RUN`; nothing was sent then.
    pub fn send(&mut self) -> io::Result<LiveFramesSent> {
        let (frames, longest) = (self.frames, self.longest);
        (self.frames, self.used, self.longest) = (0, 0, 0);
        let word = self.run.word(program::TEMPLATE_BYTES);
        word.store(longest as u64, Ordering::Relaxed);
        let template = &self.template[..longest];
        self.run.send(&self.program, template, frames, BATCH_FRAMES)
    }

    /// Sends `count` frames equal to `frame`, which has 14 to [`MAX_FRAME_BYTES`](Self::MAX_FRAME_BYTES) bytes. Those that
    /// were refused may have been any of them.
    ///
    /// # Errors
    /// As [`send`](Self::send); EINVAL for a frame of another length.
    pub fn send_equal(&mut self, frame: &[u8], count: u32) -> io::Result<LiveFramesSent> {
        self.run.send(&self.equal, frame, count, EQUAL_BATCH_FRAMES)
    }
}

impl LiveRun {
    /// Maps `memory_bytes` bytes of shared memory, and counts frames to interface `ifindex` of the calling thread's network
    /// namespace.
    pub fn open(ifindex: u32, name: &str, memory_bytes: usize) -> Result<Self, LiveFramesError> {
        let layout = MapLayout {
            map_type: MapType::Array,
            key_bytes: 4,
            value_bytes: memory_bytes as u32,
            max_entries: 1,
        };
        let map_error = MapError::creating(name, MapType::Array);
        let shared = abi::bpf::Map::create_mappable(&layout, name).map_err(&map_error)?;
        let memory = Region::map(shared.as_fd(), memory_bytes).map_err(map_error)?;
        let device = device_map(ifindex)?;
        let tracepoint = |tracepoint: &CStr, code| {
            let program = Program::load(ProgramKind::Tracepoint, name, code)?;
            open_raw_tracepoint(program.as_fd(), tracepoint).map_err(|source| {
                LiveFramesError::Tracepoint {
                    name: tracepoint.to_string_lossy().into_owned(),
                    source,
                }
            })
        };
        let tracepoints = [
            tracepoint(HANDED_OVER, &program::handed_over(shared.as_fd()))?,
            tracepoint(NOT_REDIRECTED, &program::not_redirected(shared.as_fd()))?,
        ];
        Ok(Self {
            _tracepoints: tracepoints,
            memory,
            shared,
            device,
        })
    }

    /// Runs `program` on `count` copies of `frame`.
    pub fn send(
        &self,
        program: &LiveProgram,
        frame: &[u8],
        count: u32,
        batch_frames: u32,
    ) -> io::Result<LiveFramesSent> {
        for counter in program::COUNTERS {
            self.word(counter).store(0, Ordering::Relaxed);
        }
        let run = TestRun {
            data: frame,
            context: &[],
            repeat: count,
            flags: BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_frames,
        };
        let mut has_run = false;
        if count > 0 {
            match program.program.test_run(&run, &mut []) {
                Ok(_) => has_run = true,
                // A signal ended it early; the counters say where.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let counter = |at| self.word(at).load(Ordering::Relaxed);
        let (sent, refused) = (counter(program::SENT), counter(program::REFUSED));
        Ok(LiveFramesSent {
            sent: sent as u32,
            refused: refused as u32,
            errno: if has_run && sent == 0 && refused == 0 {
                // The kernel takes an interface that is deleted out of the map, so that the program drops its frames.
                libc::ENODEV
            } else {
                // The kernel writes a negative number.
                (counter(program::ERROR) as i32).saturating_neg()
            },
        })
    }

    /// A word of page 0. The system call orders the accesses of both sides.
    fn word(&self, at: i16) -> &AtomicU64 {
        self.memory.word64(at.cast_unsigned().into())
    }
}

/// The map whose only entry is the interface.
fn device_map(ifindex: u32) -> Result<abi::bpf::Map, LiveFramesError> {
    let layout = MapLayout {
        map_type: MapType::DevMap,
        key_bytes: 4,
        value_bytes: 4,
        max_entries: 1,
    };
    let device =
        abi::bpf::Map::create(&layout, NAME).map_err(MapError::creating(NAME, MapType::DevMap))?;
    device
        .update(&0u32.to_ne_bytes(), &ifindex.to_ne_bytes())
        .map_err(|source| LiveFramesError::Interface { ifindex, source })?;
    Ok(device)
}

impl LiveProgram {
    /// Loads the program, and attaches it where no packet arrives.
    pub fn load(name: &str, code: &[Insn<'_>]) -> Result<Self, LiveFramesError> {
        let program = Program::load(ProgramKind::Xdp, name, code).map_err(|error| {
            if error.is_kernel_older_than((5, 18)) {
                return LiveFramesError::OldKernel(error);
            }
            error.into()
        })?;
        let namespace = NetNamespace::create()?;
        let link = namespace.run(|| XdpLink::attach(&program, LOOPBACK, XdpAttachMode::Generic))?;
        Ok(Self {
            program,
            _dispatched: (link?, namespace),
        })
    }
}
