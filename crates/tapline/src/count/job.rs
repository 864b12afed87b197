//! The count itself: places, classes, intervals.

use std::io;
use std::ops::ControlFlow;

use filter::Warning;

use super::class::Class;
use super::error::CountError;
use super::interval::{ClassTotals, Interval, Snapshot};
use super::options::Options;
use super::outcome::{Ended, Outcome};
use super::place::Place;
use crate::stop::Stop;

/// What [`Count::next`] waited for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// An interval is over.
    Interval(Interval),
    /// The count is over; `last` is what was counted since the interval before.
    Ended {
        /// What ended it.
        ended: Ended,
        /// The last interval, shorter than the others; `None` where nothing could be read.
        last: Option<Interval>,
    },
}

/// An open count: the kernel counts until this is dropped or the process ends, however it ends.
pub struct Count {
    places: Vec<Place>,
    warnings: Vec<(String, Warning)>,
}

impl Count {
    /// Puts a program on every interface and direction of `options`.
    ///
    /// Filters are compiled and programs loaded before any is attached; all begin to count together.
    ///
    /// # Errors
    /// [`CountError`] says which interface, which class and which step.
    /// # Privileges
    /// `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
    /// # Kernel
    /// Linux 5.9 for XDP, with groups 5.18; 6.6 for what goes out.
    pub fn open(options: Options) -> Result<Self, CountError> {
        let _ = options;
        let source = io::ErrorKind::Unsupported.into();
        Err(CountError::Read { source })
    }

    /// Where packets are counted: each interface in the order of the options, in before out.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What a reader of the filters may not expect of them, with the name of the class.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &Warning)> {
        self.warnings.iter().map(|(class, warning)| (class.as_str(), warning))
    }

    /// Names of the classes, in their order.
    pub fn classes(&self) -> impl Iterator<Item = &str> {
        [].into_iter()
    }

    /// The totals now. Does not touch the intervals.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn read(&self) -> Result<Snapshot, CountError> {
        let source = io::ErrorKind::Unsupported.into();
        Err(CountError::Read { source })
    }

    /// Counts another class from now on; it comes last. No packet is missed by the others.
    ///
    /// # Errors
    /// [`CountError`]; all is as before then, unless it is [`CountError::Replace`].
    pub fn add_class(&mut self, class: Class) -> Result<(), CountError> {
        Err(CountError::ClassTwice { class: class.name })
    }

    /// Counts the class called `name` no longer, and gives its last totals; what it counted since
    /// the last interval is in those only.
    ///
    /// # Errors
    /// As [`Count::add_class`].
    pub fn remove_class(&mut self, name: &str) -> Result<ClassTotals, CountError> {
        let class = name.to_owned();
        Err(CountError::NoClass { class })
    }

    /// Sleeps until the next interval is over, or the count.
    pub fn next(&mut self, stop: &Stop) -> Event {
        let _ = stop;
        Event::Ended {
            ended: Ended::Stopped,
            last: None,
        }
    }

    /// Gives every interval to `take` until that breaks, or the time is over, or `stop` says so, or
    /// an interface is removed. The last interval comes too. `take` may change the classes.
    ///
    /// # Errors
    /// [`CountError::Read`].
    pub fn run<F>(&mut self, stop: &Stop, mut take: F) -> Result<Outcome, CountError>
    where
        F: FnMut(&mut Self, &Interval) -> ControlFlow<()>,
    {
        let ended = loop {
            match self.next(stop) {
                Event::Interval(interval) => {
                    if take(self, &interval).is_break() {
                        break Ended::Taker;
                    }
                }
                Event::Ended { ended, last } => {
                    if let Some(last) = last {
                        let _ = take(self, &last);
                    }
                    break ended;
                }
            }
        };
        let totals = self.read()?;
        Ok(Outcome { ended, totals })
    }
}
