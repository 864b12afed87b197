//! Indexes of capture files: small files that say which parts of a capture may have packets of an address, a port, a flow or a time.
//!
//! An index divides a capture into extents of a few MiB, and has for each the times of its packets and a set of its keys. The
//! sets have no false negatives, and a key that an extent lacks is taken for a member in 1 of 256 cases. An index takes at
//! most 0.25 % of the capture, or 4 KiB: where the keys do not fit, an extent does without some of them, and is read more often.
//!
//! ```no_run
//! use std::path::Path;
//! use tapline_store::index::{Index, Key};
//!
//! let capture = Path::new("trace.pcapng");
//! let index = Index::build(capture)?;
//! index.write(capture)?;
//! let host = Key::Address("10.1.2.3".parse()?);
//! let bytes: u64 = index.extents.iter().filter(|extent| extent.may_have(host)).map(|extent| extent.bytes).sum();
//! println!("{bytes} of {} bytes may have packets of the host", index.bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod builder;
mod fuse;
mod hashes;
mod keys;
mod layout;
mod live;

pub use build::{IndexError, index_path};
pub(crate) use builder::Builder;
pub use keys::Key;
pub use layout::{Extent, Index, IndexDamage, IndexLengths};
pub(crate) use live::LiveIndex;
