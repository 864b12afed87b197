//! An XDP program that takes over in the link of another one, in front of the same rings and counters.

use bpf::{Program, XdpLink};

use super::super::control::error::ChangeError;
use super::super::control::hand_over::{NewRings, Replacement};

/// A program that is ready to take over.
pub struct XdpSuccessor<'l> {
    pub xdp: &'l mut XdpLink,
    /// Name of the interface.
    pub link: &'l str,
    pub program: Program,
}

impl Replacement for XdpSuccessor<'_> {
    fn take_over(self: Box<Self>) -> Result<NewRings, ChangeError> {
        let replaced = self.xdp.replace_and_wait(&self.program);
        replaced.map_err(|source| ChangeError::HandOver {
            link: self.link.to_owned(),
            source,
        })?;
        Ok(Vec::new().into())
    }
}
