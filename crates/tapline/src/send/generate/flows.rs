//! The fields of each packet: those of its flow, and its length.

use super::values::{Cursor, IMIX, Random, SizeValues, Values};

/// The addresses and ports of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    pub source: u128,
    pub destination: u128,
    pub source_port: u16,
    pub destination_port: u16,
}

/// Fields in the order in which they vary: the first goes through all its values before the second changes.
const SOURCE_PORT: usize = 0;
const DESTINATION_PORT: usize = 1;
const SOURCE: usize = 2;
const DESTINATION: usize = 3;

/// The flows, one after the other and then again. None is stored.
#[derive(Debug)]
pub(super) struct Flows {
    fields: [Cursor; 4],
    seed: u64,
    has_random: bool,
    /// Number of the current flow, and how many there are.
    number: u64,
    count: u64,
}

impl Flows {
    /// Flows with these source ports, destination ports, sources and destinations.
    pub fn new(fields: [Values; 4], seed: u64, count: Option<u64>) -> Self {
        let fields = fields.map(Values::cursor);
        let has_random = fields.iter().any(Cursor::is_random);
        let mut flows = Self {
            has_random,
            seed,
            number: 0,
            count: 0,
            fields,
        };
        flows.count = count.unwrap_or_else(|| flows.combinations());
        flows.draw();
        flows
    }

    /// How many flows the values give: without limit if some are drawn at random.
    pub fn combinations(&self) -> u64 {
        if self.has_random {
            return u64::MAX;
        }
        let counts = self.fields.iter().map(Cursor::count);
        let product = counts.fold(1, u128::saturating_mul);
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    pub fn current(&self) -> Flow {
        let value = |field: usize| self.fields[field].value();
        Flow {
            source: value(SOURCE),
            destination: value(DESTINATION),
            source_port: value(SOURCE_PORT) as u16,
            destination_port: value(DESTINATION_PORT) as u16,
        }
    }

    /// Goes to the next flow; behind the last to the first.
    #[inline]
    pub fn advance(&mut self) {
        self.number += 1;
        if self.number == self.count {
            self.number = 0;
            self.fields.iter_mut().for_each(Cursor::reset);
        } else {
            for field in self.fields.iter_mut().filter(|field| !field.is_random()) {
                if !field.advance() {
                    break;
                }
            }
        }
        self.draw();
    }

    /// Draws the random fields of the current flow: the same ones each time the flow comes.
    #[inline]
    fn draw(&mut self) {
        if !self.has_random {
            return;
        }
        for (stream, field) in (0..).zip(&mut self.fields) {
            if field.is_random() {
                field.draw(Random::at(self.seed, stream, self.number));
            }
        }
    }
}

/// The lengths of the frames, one after the other and then again.
#[derive(Debug)]
pub(super) enum Lengths {
    Imix {
        /// A frame is never shorter than its headers.
        least: usize,
        next: usize,
    },
    Values {
        cursor: Cursor,
        seed: u64,
        number: u64,
    },
}

/// The random numbers of the lengths; those of the fields come before.
const LENGTH_STREAM: u64 = 4;

impl Lengths {
    pub fn new(sizes: SizeValues, least: usize, seed: u64) -> Self {
        match sizes {
            SizeValues::Imix => Self::Imix { least, next: 0 },
            SizeValues::Values(values) => Self::Values {
                cursor: values.cursor(),
                seed,
                number: 0,
            },
        }
    }

    #[inline]
    pub fn next(&mut self) -> usize {
        match self {
            Self::Imix { least, next } => {
                let length = usize::from(IMIX[*next]).max(*least);
                *next = (*next + 1) % IMIX.len();
                length
            }
            Self::Values {
                cursor,
                seed,
                number,
            } => {
                if cursor.is_random() {
                    cursor.draw(Random::at(*seed, LENGTH_STREAM, *number));
                    *number += 1;
                    return cursor.value() as usize;
                }
                let length = cursor.value() as usize;
                cursor.advance();
                length
            }
        }
    }
}
