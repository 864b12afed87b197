//! The classes of a count, and where each counts.

use bpf::count::Slot;

use super::class::Class;
use super::error::CountError;
use super::options::Options;

/// A class that is being counted.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub class: Class,
    pub slot: Slot,
}

/// Slots that nobody counts in.
#[derive(Debug)]
pub(super) struct Slots {
    most: u16,
    /// Slots below this one have been given away.
    next: u16,
    /// Those that came back, and that no program counts in any more.
    free: Vec<u16>,
    next_serial: u32,
}

impl Slots {
    /// Room for at least 64 classes, and for twice as many as there are to begin with.
    pub fn new(classes: usize) -> Self {
        let most = (2 * classes).clamp(64, Options::MOST_CLASSES);
        Self {
            most: most as u16,
            next: 0,
            free: Vec::new(),
            next_serial: 1,
        }
    }

    /// Number of slots.
    pub fn most(&self) -> u32 {
        u32::from(self.most)
    }

    pub fn take(&mut self) -> Result<Slot, CountError> {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.next < self.most => {
                self.next += 1;
                self.next - 1
            }
            None => {
                let most = usize::from(self.most);
                return Err(CountError::TooManyClasses { most });
            }
        };
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        Ok(Slot { number, serial })
    }

    /// Nobody counts in `slot` any more.
    pub fn give_back(&mut self, slot: Slot) {
        self.free.push(slot.number);
    }
}

/// Checks names and number.
pub(super) fn check(classes: &[Class]) -> Result<(), CountError> {
    if classes.len() > Options::MOST_CLASSES {
        let most = Options::MOST_CLASSES;
        return Err(CountError::TooManyClasses { most });
    }
    for (number, class) in classes.iter().enumerate() {
        if classes[..number]
            .iter()
            .any(|other| other.name == class.name)
        {
            let class = class.name.clone();
            return Err(CountError::ClassTwice { class });
        }
    }
    Ok(())
}
