//! Several captures as one, in time order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::{error, fmt};

use super::error::ReadError;
use super::event::Event;
use super::reader::{Item, Reader};
use crate::model::{Interface, Packet, Statistics};

/// An error of one of several inputs.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeError {
    /// The place of the input among those given to [`Merge::new`].
    pub input: usize,
    /// What happened to it.
    pub source: ReadError,
}

impl fmt::Display for MergeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "input {} cannot be read further", self.input)
    }
}

impl error::Error for MergeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Reads several captures as one: always the packet with the earliest time stamp of those that come
/// next in their inputs.
///
/// Of equal time stamps the earlier input's comes first, and the order within an input is never
/// changed: the result is sorted if every input is. A packet without a time has that of the packet
/// before it in its input. Every interface of every input gets its own number in one list; an
/// interface is lent before its first packet, statistics when their input reaches them.
///
/// Packets are lent as the readers lend them, without a copy. Cost per packet: a comparison for each
/// doubling of the number of inputs.
pub struct Merge {
    inputs: Vec<Input>,
    /// The inputs whose reader has found its next packet, earliest first.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// The inputs to be asked for their next packet, the first to be asked last in the list.
    to_ask: Vec<usize>,
    interfaces: Vec<Interface>,
    /// The statistics lent last, with the interface's number in the one list.
    statistics: Statistics,
}

struct Input {
    reader: Reader,
    /// Numbers in the one list of the input's interfaces.
    numbers: Vec<u32>,
    /// Time of the packet before.
    time_ns: u64,
}

impl Merge {
    /// Joins captures that have not been read from yet.
    pub fn new(readers: Vec<Reader>) -> Self {
        let to_ask = (0..readers.len()).rev().collect();
        let inputs = readers
            .into_iter()
            .map(|reader| Input {
                reader,
                numbers: Vec::new(),

                time_ns: 0,
            })
            .collect();
        Self {
            inputs,
            waiting: BinaryHeap::new(),
            to_ask,
            interfaces: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// Lends the next packet, interface or statistics; `None` when every input has ended.
    ///
    /// Interfaces are numbered as in [`Self::interfaces`].
    ///
    /// # Errors
    /// [`MergeError`] once for each input that cannot be read to its end. The other inputs go on
    /// with the next call.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, MergeError> {
        while let Some(input) = self.to_ask.pop() {
            match self.ask(input)? {
                Event::Interface(index) => {
                    self.to_ask.push(input);
                    return Ok(self.adopt_interface(input, index));
                }
                Event::Statistics => {
                    self.to_ask.push(input);
                    return Ok(self.adopt_statistics(input));
                }
                Event::Packet | Event::End => {}
            }
        }
        let Some(Reverse((_, input))) = self.waiting.pop() else {
            return Ok(None);
        };
        self.to_ask.push(input);
        Ok(self.lend(input).map(Item::Packet))
    }

    /// The interfaces seen so far, those of all inputs in one list.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The readers of the inputs, in the order they were given.
    pub fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.inputs.iter().map(|input| &input.reader)
    }

    /// Moves an input on; a packet that it finds takes its place among those that wait.
    fn ask(&mut self, index: usize) -> Result<Event, MergeError> {
        let input = &mut self.inputs[index];
        let event = input.reader.advance().map_err(|source| MergeError {
            input: index,
            source,
        })?;
        if let Event::Packet = event {
            input.time_ns = input.reader.packet().timestamp_ns.unwrap_or(input.time_ns);
            self.waiting.push(Reverse((input.time_ns, index)));
        }
        Ok(event)
    }

    fn lend(&self, index: usize) -> Option<Packet<'_>> {
        let input = self.inputs.get(index)?;
        let packet = input.reader.packet();
        let interface = *input.numbers.get(packet.interface as usize)?;
        Some(Packet {
            interface,
            ..packet
        })
    }

    fn adopt_interface(&mut self, input: usize, index: u32) -> Option<Item<'_>> {
        let input = self.inputs.get_mut(input)?;
        let number = u32::try_from(self.interfaces.len()).ok()?;
        self.interfaces
            .push(input.reader.interfaces().get(index as usize)?.clone());
        input.numbers.push(number);
        Some(Item::Interface {
            index: number,
            interface: self.interfaces.last()?,
        })
    }

    fn adopt_statistics(&mut self, input: usize) -> Option<Item<'_>> {
        let input = self.inputs.get(input)?;
        let statistics = input.reader.statistics();
        let interface = *input.numbers.get(statistics.interface as usize)?;
        self.statistics = Statistics {
            interface,
            ..statistics.clone()
        };
        Some(Item::Statistics(&self.statistics))
    }
}
