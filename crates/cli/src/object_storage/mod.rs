//! Outputs on object storage.
//!
//! ```text
//! job ─▶ complete file in the spool ─▶ Queue ─▶ Uploader: one thread ─▶ Store ─▶ S3, Google Cloud Storage, Azure
//! ```
//!
//! The job writes files into a local directory, as it does without object storage. A thread moves them: whole, one at a time. So the
//! job does not wait for the network, a service may be away for as long as the spool has room, and what a killed run leaves is
//! uploaded by the next one.

mod account;
mod options;
mod url;

#[cfg(feature = "objects")]
mod attempts;
#[cfg(not(feature = "objects"))]
mod disabled;
#[cfg(feature = "objects")]
mod environment;
#[cfg(feature = "objects")]
mod journal;
#[cfg(feature = "objects")]
mod queue;
#[cfg(feature = "objects")]
mod settings;
#[cfg(feature = "objects")]
mod spool;
#[cfg(feature = "objects")]
mod store;
#[cfg(feature = "objects")]
mod upload_failure;
#[cfg(feature = "objects")]
mod uploader;
#[cfg(feature = "objects")]
mod uploads;

pub use account::Account;
#[cfg(not(feature = "objects"))]
pub use disabled::Uploads;
pub use options::{UploadOptions, WhenFull};
#[cfg(feature = "objects")]
pub use uploads::Uploads;
pub use url::{ObjectUrl, is_url};
