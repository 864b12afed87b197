//! A filter that is run on packets.

use filter::Filter;
use filter::classic::Program;

/// The fastest form in which a filter can be run here.
pub enum Matcher {
    Classic(Program),
    /// Lists that are too long for a program.
    Graph(Box<Filter>),
}

impl Matcher {
    pub fn new(filter: Filter) -> Self {
        match filter.classic() {
            Ok(program) => Self::Classic(program),
            Err(_) => Self::Graph(Box::new(filter)),
        }
    }

    #[inline]
    pub fn matches(&self, bytes: &[u8], original_len: u32) -> bool {
        let kept = match self {
            Self::Classic(program) => program.run(bytes, original_len),
            Self::Graph(filter) => filter.run(bytes, original_len, &filter::classic::Ancillary::default()),
        };
        kept != 0
    }
}
