//! The loaded filter and its counters.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::SockFilter;

use super::translate::{COUNTER_COUNT, Options, translate};
use super::untranslatable::Untranslatable;
use crate::map::{Counters, MapError};
use crate::program::{LoadError, Program, ProgramKind};
use crate::sampling::Sampler;

/// A classic filter in the kernel that counts; its descriptor is for `SO_ATTACH_BPF`.
///
/// The socket keeps the program alive; this keeps its counters readable. Every socket that the
/// filter is attached to adds to the same counters.
#[derive(Debug)]
pub struct CountingFilter {
    program: Program,
    counters: Counters<COUNTER_COUNT>,
}

/// What a filter saw; neither is ever reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of the right direction that reached the filter.
    pub offered: u64,
    /// Those of them that were let through, at least in part.
    pub accepted: u64,
    /// Those of them that the filter would have let through, and sampling left out.
    pub sampled_out: u64,
}

/// Why there is no counting filter.
#[derive(Debug)]
#[non_exhaustive]
pub enum CountingFilterError {
    /// The filter uses what eBPF does not offer: attach the classic program itself.
    Untranslatable(Untranslatable),
    /// The counters could not be made.
    Map(MapError),
    /// The program could not be loaded.
    Load(LoadError),
    /// The process has no room for another descriptor.
    Descriptor(io::Error),
}

impl CountingFilter {
    /// Translates `classic` and loads it.
    ///
    /// `classic` is a program the kernel would accept with `SO_ATTACH_FILTER`.
    /// Cost per packet beside the filter's own: a map lookup, two additions on this CPU's memory.
    ///
    /// # Errors
    /// [`CountingFilterError`] says whether the filter, the privilege or the kernel is in the way.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    /// # Kernel
    /// Linux 5.1 (32-bit jumps); as [`Sampler::code`] says with sampling.
    pub fn load(classic: &[SockFilter], options: &Options) -> Result<Self, CountingFilterError> {
        let counters = Counters::create("tapline_filter").map_err(CountingFilterError::Map)?;
        let sampler = match options.sampling {
            Some(sampling) => Some(
                Sampler::create("tapline_sample", sampling).map_err(CountingFilterError::Map)?,
            ),
            None => None,
        };
        let code = translate(classic, options, counters.as_fd(), sampler.as_ref())
            .map_err(CountingFilterError::Untranslatable)?;
        let program = Program::load(ProgramKind::SocketFilter, "tapline_filter", &code)
            .map_err(CountingFilterError::Load)?;
        Ok(Self { program, counters })
    }

    /// Another descriptor of the program, for a socket that keeps one.
    ///
    /// # Errors
    /// [`CountingFilterError::Descriptor`], e.g. EMFILE.
    pub fn descriptor(&self) -> Result<OwnedFd, CountingFilterError> {
        let descriptor = self.program.as_fd().try_clone_to_owned();
        descriptor.map_err(CountingFilterError::Descriptor)
    }

    /// What the filter has seen, on all CPUs.
    ///
    /// Each CPU's `offered` is read last: a packet under way may be in it only, never only in another.
    ///
    /// # Errors
    /// As [`Counters::read`].
    pub fn counts(&self) -> io::Result<Counts> {
        let [accepted, sampled_out, offered] = self.counters.read()?;
        Ok(Counts {
            offered,
            accepted,
            sampled_out,
        })
    }
}

impl AsFd for CountingFilter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}

impl fmt::Display for CountingFilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot make a counting filter")
    }
}

impl std::error::Error for CountingFilterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Untranslatable(error) => Some(error),
            Self::Map(error) => Some(error),
            Self::Load(error) => Some(error),
            Self::Descriptor(error) => Some(error),
        }
    }
}
