//! A filter that is run on packets.

use filter::Filter;
use filter::classic::Ancillary;
use filter::native::Program;

/// The fastest form in which a filter can be run here.
pub enum Matcher {
    Native(Program),
    /// Where there is no native code.
    Graph(Box<Filter>),
}

impl Matcher {
    pub fn new(filter: Filter) -> Self {
        match filter.native() {
            Ok(program) => Self::Native(program),
            Err(_) => Self::Graph(Box::new(filter)),
        }
    }

    #[inline]
    pub fn matches(&self, bytes: &[u8], original_len: u32) -> bool {
        let kept = match self {
            Self::Native(program) => program.run(bytes, original_len),
            Self::Graph(filter) => filter.run(bytes, original_len, &Ancillary::default()),
        };
        kept != 0
    }
}
