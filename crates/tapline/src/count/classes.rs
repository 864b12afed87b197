//! The classes of a count and their counter slots.

use bpf::count::ClassSlot;

use super::error::CountError;
use super::options::CountClass;
use super::options::CountOptions;

/// Name of programs and maps, as in bpftool.
pub(super) const NAME: &str = "tapline_count";

/// A class and its counter slot.
#[derive(Clone, Debug)]
pub(super) struct ActiveClass {
    pub class: CountClass,
    pub slot: ClassSlot,
}

/// The free counter slots.
#[derive(Debug)]
pub(super) struct Slots {
    most: u16,
    /// Slots below this one have been allocated.
    next: u16,
    /// Returned slots, which no program uses any more.
    free: Vec<u16>,
    next_serial: u32,
}

impl Slots {
    /// Room for twice the initial number of classes, at least 64.
    pub fn new(classes: usize) -> Self {
        let most = (2 * classes).clamp(64, CountOptions::MAX_CLASSES);
        Self {
            most: most as u16,
            next: 0,
            free: Vec::new(),
            next_serial: 1,
        }
    }

    /// The number of slots.
    pub fn capacity(&self) -> u32 {
        u32::from(self.most)
    }

    pub fn take(&mut self) -> Result<ClassSlot, CountError> {
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
        Ok(ClassSlot { number, serial })
    }

    /// Returns a slot that no program uses any more.
    pub fn give_back(&mut self, slot: ClassSlot) {
        self.free.push(slot.number);
    }
}

/// Checks the names and the number of classes.
pub(super) fn check(classes: &[CountClass]) -> Result<(), CountError> {
    if classes.len() > CountOptions::MAX_CLASSES {
        let most = CountOptions::MAX_CLASSES;
        return Err(CountError::TooManyClasses { most });
    }
    for (number, class) in classes.iter().enumerate() {
        if classes[..number]
            .iter()
            .any(|other| other.name == class.name)
        {
            let class = class.name.clone();
            return Err(CountError::DuplicateClass { class });
        }
    }
    Ok(())
}
