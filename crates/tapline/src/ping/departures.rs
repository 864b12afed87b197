//! When probes really left.

use probe::Probe;

/// Probes remembered: those of a tenth of a second at the highest rate at which they are asked after.
const PLACES: usize = 2048;

/// How long each of the latest probes took from its own stamp to the driver.
#[derive(Debug)]
pub(super) struct Departures {
    /// Number and target of a probe, and its delay in nanoseconds; a later one takes the place.
    places: Box<[Option<(Probe, u32)>]>,
    /// Answers timed from the driver, and from this program's own stamp.
    pub by_kernel: u64,
    pub by_program: u64,
}

impl Departures {
    pub fn new(is_wanted: bool) -> Self {
        let places = if is_wanted { PLACES } else { 0 };
        Self {
            places: vec![None; places].into_boxed_slice(),
            by_kernel: 0,
            by_program: 0,
        }
    }

    pub fn is_wanted(&self) -> bool {
        !self.places.is_empty()
    }

    /// Notes that the driver took `probe` so long after its stamp.
    pub fn note(&mut self, probe: Probe, delay_ns: u32) {
        if let Some(place) = self.places.get_mut(place(probe)) {
            *place = Some((probe, delay_ns));
        }
    }

    /// How long after its stamp the driver took `probe`; `None` when that is not known.
    pub fn delay(&self, probe: Probe) -> Option<u32> {
        let (known, delay_ns) = (*self.places.get(place(probe))?)?;
        (known == probe).then_some(delay_ns)
    }
}

fn place(probe: Probe) -> usize {
    let key = u64::from(probe.target) << 32 | u64::from(probe.round);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PLACES
}
