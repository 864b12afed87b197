//! The loaded filter and its counters.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::bpf::SockFilter;

use super::error::TranslateError;
use super::translate::{COUNTER_COUNT, TranslateOptions, translate};
use crate::map::{Counters, MapError};
use crate::program::{LoadError, Program, ProgramKind};
use crate::sampling::Sampler;
use crate::socket_ports::SocketPorts;

/// A classic filter with counters, loaded as eBPF. Attach its descriptor with `SO_ATTACH_BPF`.
///
/// The socket keeps the program alive; this keeps its counters readable. All sockets with the filter share the counters.
#[derive(Debug)]
pub struct CountingFilter {
    program: Program,
    counters: Counters<COUNTER_COUNT>,
}

/// Packets that a filter has seen. The counters are never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounters {
    /// Packets of the right direction that reached the filter.
    pub offered: u64,
    /// Packets accepted, at least in part.
    pub accepted: u64,
    /// Packets that the filter accepted and that were sampled out.
    pub sampled_out: u64,
}

/// Why there is no counting filter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("cannot make a counting filter")]
pub enum CountingFilterError {
    /// The filter cannot be translated: attach the classic program itself.
    Translate(#[source] TranslateError),
    /// The counters could not be created.
    Map(#[source] MapError),
    /// The program could not be loaded.
    Load(#[source] LoadError),
    /// The process has no free descriptor.
    Descriptor(#[source] io::Error),
}

impl CountingFilter {
    /// Translates `classic` and loads it.
    ///
    /// `classic` must be a program that the kernel accepts with `SO_ATTACH_FILTER`. Besides the filter itself, a packet
    /// costs a map lookup and two additions in per-CPU memory.
    ///
    /// # Errors
    /// [`CountingFilterError`]: the filter cannot be translated, a privilege is missing, or the kernel refused it.
    /// # Privileges
    /// `CAP_BPF` where `kernel.unprivileged_bpf_disabled` is set.
    /// # Kernel
    /// Linux 5.1 (32-bit jumps); with sampling as for [`Sampler::code`].
    pub fn load(
        classic: &[SockFilter],
        options: &TranslateOptions,
    ) -> Result<Self, CountingFilterError> {
        Self::load_for(classic, options, None)
    }

    /// The same, for packets with one of `ports` only. Others are rejected and not counted.
    ///
    /// # Errors
    /// As [`CountingFilter::load`].
    pub fn load_for(
        classic: &[SockFilter],
        options: &TranslateOptions,
        ports: Option<&SocketPorts>,
    ) -> Result<Self, CountingFilterError> {
        let counters = Counters::create("tapline_filter").map_err(CountingFilterError::Map)?;
        let sampler = match options.sampling {
            Some(sampling) => Some(
                Sampler::create("tapline_sample", sampling).map_err(CountingFilterError::Map)?,
            ),
            None => None,
        };
        let code = translate(classic, options, counters.as_fd(), sampler.as_ref(), ports)
            .map_err(CountingFilterError::Translate)?;
        let program = Program::load(ProgramKind::SocketFilter, "tapline_filter", &code)
            .map_err(CountingFilterError::Load)?;
        Ok(Self { program, counters })
    }

    /// Duplicates the program's descriptor, for a socket that keeps one.
    ///
    /// # Errors
    /// [`CountingFilterError::Descriptor`], e.g. EMFILE.
    pub fn descriptor(&self) -> Result<OwnedFd, CountingFilterError> {
        let descriptor = self.program.as_fd().try_clone_to_owned();
        descriptor.map_err(CountingFilterError::Descriptor)
    }

    /// Packets so far, on all CPUs.
    ///
    /// `offered` of each CPU is read last, so it includes every packet that the other counters include.
    ///
    /// # Errors
    /// As [`Counters::read`].
    pub fn counts(&self) -> io::Result<FilterCounters> {
        let [accepted, sampled_out, offered] = self.counters.read()?;
        Ok(FilterCounters {
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
