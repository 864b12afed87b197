//! Rings of several readers that take over, with a kernel whose answers are known.

use std::io;
use std::sync::Mutex;

use super::super::hand_over::NewRings;
use super::*;

/// Switches the packets of an interface to the rings of all readers, or refuses.
#[derive(Default)]
struct Kernel {
    refuses: Option<usize>,
    /// Interfaces whose packets enter the new rings.
    switched: Mutex<Vec<usize>>,
}

struct Ring<'k> {
    kernel: &'k Kernel,
    interface: usize,
}

impl Replacement for Ring<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        if self.kernel.refuses == Some(self.interface) {
            let link = format!("eth{}", self.interface);
            let source = io::Error::from_raw_os_error(libc::ENOMEM);
            return Err(ChangeError::HandOver { link, source });
        }
        let mut switched = self.kernel.switched.lock().expect("no panic");
        if !switched.contains(&self.interface) {
            switched.push(self.interface);
        }
        Ok(Vec::new().into())
    }
}

/// The interfaces whose rings each of three readers gets, of interfaces 0, 2 and 3.
fn taken_over(kernel: &Kernel) -> (Vec<Vec<usize>>, Result<(), ChangeError>) {
    let pending = PendingChanges::new().expect("pending changes");
    let ring = |interface| -> (usize, Box<dyn Replacement>) {
        (interface, Box::new(Ring { kernel, interface }))
    };
    let prepared = (0..3).map(|_| Prepared {
        pending: &pending,
        replacements: [0, 2, 3].map(ring).into(),
    });
    let (steps, result) = take_over(prepared.collect());
    let place = |step: Step| match step {
        Step::Rings(place, _) => place,
        _ => panic!("no rings"),
    };
    let steps = steps.into_iter();
    let places = steps.map(|steps| steps.into_iter().map(place).collect());
    (places.collect(), result)
}

#[test]
fn every_reader_gets_the_rings_of_every_interface() {
    let (places, result) = taken_over(&Kernel::default());
    result.expect("all take over");
    assert_eq!(places, [[0, 2, 3]; 3]);
}

#[test]
fn an_interface_that_fails_leaves_no_ring_unread_that_gets_packets() {
    for (refuses, expected) in [(0, &[][..]), (2, &[0]), (3, &[0, 2])] {
        let kernel = Kernel {
            refuses: Some(refuses),
            ..Kernel::default()
        };
        let (places, result) = taken_over(&kernel);
        match result {
            Err(ChangeError::HandOver { link, .. }) => assert_eq!(link, format!("eth{refuses}")),
            other => panic!("{other:?}"),
        }
        assert_eq!(*kernel.switched.lock().expect("no panic"), expected);
        assert_eq!(places, [expected; 3], "eth{refuses} fails");
    }
}
