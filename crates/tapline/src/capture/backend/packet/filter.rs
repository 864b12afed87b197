//! The socket filter of a packet ring, and its counters.

use std::num::NonZeroU32;
use std::sync::Arc;

use abi::bpf::SockFilter;
use bpf::socket_filter::{self, CountingFilter, CountingFilterError};
use filter::classic::{ClassicProgram, Instruction};
use ring::DirectionFilter;

use super::super::super::account::kernel_filter::{FilterCounters, KernelFilter};
use super::super::super::error::CaptureError;
use super::super::super::plan::options::CaptureOptions;

/// The filter as the ring attaches it, and its counters.
///
/// Without the privilege for eBPF, and for programs that eBPF cannot express, the classic program itself is
/// attached. It counts nothing, cannot sample and has the direction of the ring.
pub fn prepare(
    link: &str,
    program: &ClassicProgram,
    options: &CaptureOptions,
) -> Result<(ring::RingFilter, Box<dyn KernelFilter>), CaptureError> {
    let classic = sock_filter(program);
    match counting(&classic, options) {
        Ok((filter, counting)) => Ok((filter, Box::new(counting))),
        Err(error) if options.sampling.is_some() => {
            let link = link.to_owned();
            Err(CaptureError::Sampling { link, error })
        }
        Err(error) if options.socket_ports.is_some() => {
            let link = link.to_owned();
            Err(CaptureError::SocketPorts { link, error })
        }
        Err(error) if options.narrows_direction() => {
            let link = link.to_owned();
            Err(CaptureError::Direction { link, error })
        }
        Err(error) => {
            let uncounted = UncountedFilter(Arc::new(error));
            Ok((ring::RingFilter::Classic(classic), Box::new(uncounted)))
        }
    }
}

fn counting(
    classic: &[SockFilter],
    options: &CaptureOptions,
) -> Result<(ring::RingFilter, CountingFilter), CountingFilterError> {
    let direction = match options.first_direction() {
        DirectionFilter::Out => socket_filter::Direction::Outgoing,
        // Older kernels deliver outgoing packets to a fanout group even if its members ignore them.
        DirectionFilter::In => socket_filter::Direction::Incoming,
        DirectionFilter::Both => socket_filter::Direction::Both,
    };
    // The ring itself rejects a snaplen of 0.
    let snaplen = NonZeroU32::new(options.snaplen).unwrap_or(NonZeroU32::MIN);
    let counting_options = socket_filter::TranslateOptions {
        snaplen,
        direction,
        sampling: options.sampling,
    };
    let ports = options.socket_ports.as_deref();
    let filter = CountingFilter::load_for(classic, &counting_options, ports)?;
    let descriptor = filter.descriptor()?;
    Ok((ring::RingFilter::Program(descriptor), filter))
}

impl KernelFilter for CountingFilter {
    fn counters(&self) -> FilterCounters {
        let counts = self.counts().map(|counts| FilterCounters {
            refused: Some(counts.offered - counts.accepted),
            sampled_out: Some(counts.sampled_out),
            accepted: Some(counts.accepted),
            lost: 0,
        });
        counts.unwrap_or_default()
    }
}

/// A classic filter, which does not count, and the reason.
struct UncountedFilter(Arc<CountingFilterError>);

impl KernelFilter for UncountedFilter {
    fn counters(&self) -> FilterCounters {
        FilterCounters::default()
    }

    fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        Some(&self.0)
    }
}

/// The program as a socket takes it.
pub(crate) fn sock_filter(program: &ClassicProgram) -> Vec<SockFilter> {
    let plain = |i: &Instruction| SockFilter {
        code: i.code,
        jt: i.jt,
        jf: i.jf,
        k: i.k,
    };
    program.instructions().iter().map(plain).collect()
}
