//! When probes really left.

use probe::Probe;

/// Probes remembered: those of a tenth of a second at the highest rate at which they are asked after.
const PLACES: usize = 2048;

/// A probe that the kernel was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Departure {
    probe: Probe,
    /// From its own stamp to the driver; `None` while the kernel has not been heard.
    delay_ns: Option<u32>,
}

/// How long each of the latest probes took from its own stamp to the driver.
#[derive(Debug)]
pub(super) struct Departures {
    /// By number and target of a probe; a later one takes the place.
    places: Box<[Option<Departure>]>,
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

    /// Notes that the kernel will tell when the driver takes `probe`.
    pub fn ask(&mut self, probe: Probe) {
        self.put(probe, None);
    }

    /// Notes that the driver took `probe` so long after its stamp.
    pub fn note(&mut self, probe: Probe, delay_ns: u32) {
        self.put(probe, Some(delay_ns));
    }

    fn put(&mut self, probe: Probe, delay_ns: Option<u32>) {
        if let Some(place) = self.places.get_mut(place(probe)) {
            *place = Some(Departure { probe, delay_ns });
        }
    }

    /// Whether the kernel was asked about `probe` and has not been heard.
    pub fn is_awaited(&self, probe: Probe) -> bool {
        self.find(probe)
            .is_some_and(|known| known.delay_ns.is_none())
    }

    /// How long after its stamp the driver took `probe`; `None` when that is not known.
    pub fn delay(&self, probe: Probe) -> Option<u32> {
        self.find(probe)?.delay_ns
    }

    fn find(&self, probe: Probe) -> Option<Departure> {
        let known = (*self.places.get(place(probe))?)?;
        (known.probe == probe).then_some(known)
    }
}

fn place(probe: Probe) -> usize {
    let key = u64::from(probe.target) << 32 | u64::from(probe.round);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PLACES
}
