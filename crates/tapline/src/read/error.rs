//! Errors of a read job.

use std::error::Error;
use std::{fmt, io};

use filter::FilterError;
use store::model::LinkType;
use store::read;
use store::write::WriteError;
use thiserror::Error;

/// Why a consumer failed.
pub type ConsumerError = Box<dyn Error + Send + Sync>;

/// Why a read job failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The builder has no input.
    #[error("no capture file to read")]
    NoInput,
    /// The first time of the selection is not before its end.
    #[error("the time range is empty")]
    EmptyTimeRange,
    /// A file cannot be opened.
    #[error("cannot open {name}")]
    Open {
        /// Its name.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The index of a file cannot be used.
    #[error("cannot use the index of {name}")]
    Index {
        /// Name of the file.
        name: String,
        /// What is wrong with the index.
        source: store::index::IndexError,
    },
    /// An input cannot be read to its end. The job continues with the others.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Some inputs could not be read to their end. Everything else was delivered.
    #[error(transparent)]
    Incomplete(BrokenInputs),
    /// The operating system refused a resource.
    #[error("cannot start reading")]
    Io(#[from] io::Error),
    /// The filter cannot be compiled for an interface.
    #[error("cannot compile the filter for interface {interface} (link type {link})")]
    Filter {
        /// Name of the interface, or its number, counted from 0, if it has none.
        interface: String,
        /// Its link type.
        link: filter::LinkType,
        /// The error in the text.
        source: Box<FilterError>,
    },
    /// A classic BPF program is made for one link type.
    #[error(
        "a filter program is made for one link type, and there are packets of types {} and {}", .first.0, .second.0
    )]
    ProgramLinkTypes {
        /// The link type of the first interface.
        first: LinkType,
        /// The link type of another one.
        second: LinkType,
    },
    /// The filter rejects all packets of all interfaces.
    #[error("the filter rejects all packets")]
    FilterRejectsAll,
    /// No input has an interface with these names.
    #[error("no interface is called {}", .0.join(", "))]
    UnknownInterfaces(Vec<String>),
    /// The output file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The consumer failed.
    #[error("the consumer failed")]
    Consumer(#[source] ConsumerError),
}

/// Why an input could not be read to its end.
#[derive(Debug, Error)]
#[error("{name}")]
pub struct InputError {
    /// Index of the input, in the order of the builder.
    pub input: usize,
    /// Its name.
    pub name: String,
    /// The error, with its location in the file.
    pub source: Box<read::ReadError>,
}

/// The inputs that could not be read to their end, at least one. Its source is the first error.
#[derive(Debug)]
pub struct BrokenInputs(pub Vec<InputError>);

impl fmt::Display for BrokenInputs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(out, "an input could not be read to the end"),
            count => write!(out, "{count} inputs could not be read to the end"),
        }
    }
}

impl Error for BrokenInputs {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.first().map(|error| error as _)
    }
}
