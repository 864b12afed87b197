//! Questions to the kernel: for a change, for one object, for all of a kind.

use crate::codec::{Malformed, Message, Request};
use crate::error::Cause;
use crate::socket::{Consistency, Socket};

/// How often a list is asked for again when it changed under way.
const ATTEMPTS: usize = 4;

/// All objects of a kind, as far as the kernel could tell.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing<T> {
    /// The objects, in the kernel's order.
    pub items: Vec<T>,
    /// Objects came or went while the list was made, each of the four times it was asked for: it may
    /// lack some or have some twice.
    pub interrupted: bool,
}

impl<T> Default for Listing<T> {
    /// None, and that is all.
    fn default() -> Self {
        Self {
            items: Vec::new(),
            interrupted: false,
        }
    }
}

impl Socket {
    /// Makes a change; the answer is an acknowledgement only.
    pub(crate) fn tell(&mut self, request: &mut Request) -> Result<(), Cause> {
        self.exchange(request, |_| Ok(())).map(|_| ())
    }

    /// Asks for one object, or makes one that the kernel echoes.
    ///
    /// An object too long for the buffer is asked for again, unless the request changes something.
    pub(crate) fn ask<T>(
        &mut self,
        request: &mut Request,
        parse: impl Fn(Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<T, Cause> {
        let mut answer = None;
        for _ in 0..ATTEMPTS {
            let consistency = self.exchange(request, |message| {
                answer = parse(message)?.or(answer.take());
                Ok(())
            })?;
            if consistency == Consistency::Whole || request.changes() {
                break;
            }
        }
        answer.ok_or(Cause::Unanswered)
    }

    /// Asks for all objects of a kind, which `take` reads, again if they changed under way.
    pub(crate) fn list<T>(
        &mut self,
        request: &mut Request,
        mut take: impl FnMut(Message<'_>, &mut Vec<T>) -> Result<(), Malformed>,
    ) -> Result<Listing<T>, Cause> {
        let mut items = Vec::new();
        let mut cut = false;
        for _ in 0..ATTEMPTS {
            items.clear();
            let consistency = self.exchange(request, |message| take(message, &mut items))?;
            cut = consistency == Consistency::Cut;
            if consistency == Consistency::Whole {
                return Ok(Listing {
                    items,
                    interrupted: false,
                });
            }
        }
        if cut {
            return Err(Cause::Unanswered);
        }
        Ok(Listing {
            items,
            interrupted: true,
        })
    }
}
