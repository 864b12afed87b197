//! Several captures as one, in time order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use super::error::ReadError;
use super::format::Event;
use super::reader::{Item, Reader};
use crate::block::Options;
use crate::model::{Interface, Packet, Statistics};

/// `shb_userappl`.
const APPLICATION: u16 = 4;

/// An error of one of several inputs.
#[derive(Debug, Error)]
#[error("cannot read input {input} further")]
#[non_exhaustive]
pub struct MergeError {
    /// Index of the input among those given to [`Merge::new`].
    pub input: usize,
    /// Its error.
    pub source: ReadError,
}

/// Merges several captures by time stamp.
///
/// Packets with equal time stamps come in the order of the inputs. The order within an input never
/// changes, so the result is sorted if every input is. A packet without a time stamp uses the time of
/// the packet before it. Each interface of each input gets its own number in one list. An interface is
/// lent before its first packet, statistics and other blocks when they are reached in their input.
/// The merged capture is one section: there is no item for the sections of the inputs.
///
/// Packets are lent without a copy. Cost per packet: O(log inputs) comparisons.
pub struct Merge {
    inputs: Vec<MergeInput>,
    /// The inputs whose next packet is decoded, earliest first.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// The inputs to advance, in reverse order.
    to_advance: Vec<usize>,
    /// The input of the packet lent last.
    last_input: usize,
    interfaces: Vec<Interface>,
    /// The statistics lent last, with the number of the merged list.
    statistics: Statistics,
    left_out_options: u64,
}

struct MergeInput {
    reader: Reader,
    /// Numbers of the input's interfaces in the merged list.
    numbers: Vec<u32>,
    /// Time of the previous packet.
    time_ns: u64,
}

impl Merge {
    /// Merges captures of which nothing has been read.
    pub fn new(readers: Vec<Reader>) -> Self {
        let to_advance = (0..readers.len()).rev().collect();
        let inputs = readers
            .into_iter()
            .map(|reader| MergeInput {
                reader,
                numbers: Vec::new(),
                time_ns: 0,
            })
            .collect();
        Self {
            inputs,
            waiting: BinaryHeap::new(),
            to_advance,
            last_input: 0,
            interfaces: Vec::new(),
            statistics: Statistics::default(),
            left_out_options: 0,
        }
    }

    /// Lends the next packet, interface or statistics. Returns `None` after the end of all inputs.
    ///
    /// Interfaces are numbered as in [`Self::interfaces`].
    ///
    /// # Errors
    /// [`MergeError`] once for each input that cannot be read to its end. The next call continues with
    /// the other inputs.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, MergeError> {
        while let Some(input) = self.to_advance.pop() {
            match self.advance(input)? {
                Event::Interface(index) => {
                    self.to_advance.push(input);
                    return Ok(self.add_interface(input, index));
                }
                Event::Statistics => {
                    self.to_advance.push(input);
                    return Ok(self.map_statistics(input));
                }
                Event::Block => {
                    self.to_advance.push(input);
                    let reader = self.inputs.get(input).map(|input| &input.reader);
                    return Ok(reader.map(|reader| Item::Block(reader.last_block())));
                }
                // The merged capture is one section.
                Event::Section => {
                    self.to_advance.push(input);
                    let header = self.inputs[input].reader.header();
                    let options = Options {
                        bytes: &header.options,
                        order: header.byte_order,
                    };
                    let lost = options.into_iter().filter(|one| one.code != APPLICATION);
                    self.left_out_options += lost.count() as u64;
                }
                Event::Packet | Event::End => {}
            }
        }
        let Some(Reverse((_, input))) = self.waiting.pop() else {
            return Ok(None);
        };
        self.to_advance.push(input);
        self.last_input = input;
        Ok(self.last_packet().map(Item::Packet))
    }

    /// Lends the packet that [`Self::next_item`] returned last, again.
    #[inline]
    pub fn last_packet(&self) -> Option<Packet<'_>> {
        let input = self.inputs.get(self.last_input)?;
        let packet = input.reader.last_packet();
        let interface = *input.numbers.get(packet.interface as usize)?;
        Some(Packet {
            interface,
            ..packet
        })
    }

    /// Index of an input that has to be read for the next item, and whose next one is not completely there yet: see
    /// [`Reader::must_wait`].
    #[inline]
    pub fn awaited(&self) -> Option<usize> {
        let mut inputs = self.to_advance.iter().copied();
        inputs.find(|&input| self.inputs[input].reader.must_wait())
    }

    /// Options of the headers of sections behind the first of an input, so far, but for the name of the application: there
    /// is no item for them.
    pub fn left_out_options(&self) -> u64 {
        self.left_out_options
    }

    /// The interfaces read so far, of all inputs.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The readers of the inputs, in their order.
    pub fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.inputs.iter().map(|input| &input.reader)
    }

    /// Advances an input, and queues its packet if it finds one.
    fn advance(&mut self, index: usize) -> Result<Event, MergeError> {
        let input = &mut self.inputs[index];
        let event = input.reader.advance().map_err(|source| MergeError {
            input: index,
            source,
        })?;
        if let Event::Packet = event {
            input.time_ns = input
                .reader
                .last_packet()
                .timestamp_ns
                .unwrap_or(input.time_ns);
            self.waiting.push(Reverse((input.time_ns, index)));
        }
        Ok(event)
    }

    fn add_interface(&mut self, input: usize, index: u32) -> Option<Item<'_>> {
        let input = self.inputs.get_mut(input)?;
        let number = u32::try_from(self.interfaces.len()).ok()?;
        self.interfaces
            .push(input.reader.interfaces().get(index as usize)?.clone());
        input.numbers.push(number);
        Some(Item::Interface {
            index: number,
            interface: self.interfaces.last()?,
            options: input.reader.last_options(),
        })
    }

    fn map_statistics(&mut self, input: usize) -> Option<Item<'_>> {
        let input = self.inputs.get(input)?;
        let statistics = input.reader.statistics();
        let interface = *input.numbers.get(statistics.interface as usize)?;
        self.statistics = Statistics {
            interface,
            ..statistics.clone()
        };
        Some(Item::Statistics {
            statistics: &self.statistics,
            options: input.reader.last_options(),
        })
    }
}
