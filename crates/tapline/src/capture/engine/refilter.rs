//! Another filter for a packet ring that stays: unlike a hand-over, this takes no privilege and no second ring.

use filter::classic::ClassicProgram;

use super::super::backend::packet;
use super::super::error::CaptureError;
use super::super::read::exact_filter::ExactFilter;
use super::super::read::ring::RingReader;
use super::Engine;

impl Engine {
    /// Replaces the filter of the only ring. Packets in the ring were accepted by the filter before, so the reader
    /// runs the new one on them. It runs it on all packets if the kernel rejects the program.
    pub fn replace_filter(&mut self, program: &ClassicProgram) -> Result<(), CaptureError> {
        let ([interface], [queue]) = (&mut self.interfaces[..], &mut self.queues[..]) else {
            return Err(CaptureError::FixedFilter);
        };
        let RingReader::Packet(ring) = &mut queue.reader else {
            return Err(CaptureError::FixedFilter);
        };
        let link = interface.link.name.as_str();
        let (filter, kernel) = packet::prepare(link, program, &self.options)?;
        let (kernel, packets) = if ring.set_filter(&filter).is_ok() {
            // The counters of a socket can always be read.
            let _ = ring.refresh();
            (kernel, ring.counters().waiting())
        } else {
            let everything = ClassicProgram::keep(self.options.snaplen);
            let (filter, kernel) = packet::prepare(link, &everything, &self.options)?;
            let refused = |source| CaptureError::Wait { source };
            ring.set_filter(&filter).map_err(refused)?;
            (kernel, u64::MAX)
        };
        interface.replace_filter(kernel);
        let exact = ExactFilter::program(program.clone(), packets);
        queue.reading.exact = Some(exact).filter(|exact| !exact.is_over());
        Ok(())
    }
}
