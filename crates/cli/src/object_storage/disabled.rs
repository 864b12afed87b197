//! Errors of uploads, if the program is built without the feature `objects`.

use std::convert::Infallible;
use std::path::Path;
#[cfg(feature = "columns")]
use std::path::PathBuf;

use super::account::Account;
use super::options::UploadOptions;
use super::url::ObjectUrl;
use crate::args::SandboxArgs;
use crate::failure::{Exit, Failure};
use crate::metrics::Counters;
use crate::sandbox::Sandbox;

pub struct Uploads(Infallible);

impl Uploads {
    pub fn start(
        url: ObjectUrl,
        _options: UploadOptions,
        _sandbox: SandboxArgs,
    ) -> Result<Self, Failure> {
        let line = format!(
            "cannot write {url}: this tapline was built without object storage (use the one of the Debian package, or build with --features objects)"
        );
        Err(Failure::new(Exit::Unsupported, line))
    }

    pub fn root(&self) -> &Path {
        match self.0 {}
    }

    #[cfg(feature = "columns")]
    pub fn path(&self) -> PathBuf {
        match self.0 {}
    }

    pub fn allow(&self, _sandbox: Sandbox) -> Sandbox {
        match self.0 {}
    }

    pub fn counters(&self) -> Counters {
        match self.0 {}
    }

    #[cfg(feature = "columns")]
    pub fn max_file_bytes(&self) -> u64 {
        match self.0 {}
    }

    #[cfg(feature = "columns")]
    pub fn receiver(&self) -> tapline::columns::OnComplete {
        match self.0 {}
    }

    pub fn finish(&self) -> (Account, Option<Failure>) {
        match self.0 {}
    }
    pub fn stop(&self) -> Account {
        match self.0 {}
    }
}
