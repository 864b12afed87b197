use rustix::io::Errno;

use crate::codec::Malformed;
use crate::interface::IfIndex;
use crate::link::Link;
use crate::object::Object;
use crate::table::Table;

/// An object that a [`FakeKernel`](super::FakeKernel) can keep.
pub trait Kept: Object {
    /// The error number for one that is not there.
    const ABSENT: Errno;

    /// What a request says, of which the flags that it does not mean are left out.
    ///
    /// # Errors
    /// As [`Object::parse`].
    fn said(body: &[u8]) -> Result<Option<Self>, Malformed> {
        Self::parse(body)
    }

    /// The object as it is made: with what a kernel chooses itself. `index` is the next of a link.
    #[must_use]
    fn made(self, _index: IfIndex) -> Self {
        self
    }

    /// Whether a request that says `said` means this one.
    fn is_meant_by(&self, said: &Self) -> bool {
        said.key().is_some() && said.key() == self.key()
    }

    /// Takes over what `change` gives.
    fn take_over(&mut self, change: Self);

    /// The link that it goes away with.
    fn link(&self) -> Option<IfIndex> {
        None
    }
}

impl Kept for Link {
    const ABSENT: Errno = Errno::NODEV;

    fn said(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let link = Self::parse(body)?;
        Ok(link.map(|link| link.without_unmeant_flags(body)))
    }

    fn made(mut self, index: IfIndex) -> Self {
        self.index.get_or_insert(index);
        self.mtu.get_or_insert(1500);
        self.up.get_or_insert(false);
        self
    }

    fn is_meant_by(&self, said: &Self) -> bool {
        match (said.index, said.name) {
            (Some(index), _) => self.index == Some(index),
            (None, Some(name)) => self.name == Some(name),
            (None, None) => false,
        }
    }

    fn take_over(&mut self, change: Self) {
        let (index, flags) = (self.index, self.flags);
        self.merge(change);
        (self.index, self.flags) = (index, flags);
    }

    fn link(&self) -> Option<IfIndex> {
        self.index
    }
}
