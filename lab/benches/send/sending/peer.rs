//! The peers in C, built for each run.

use std::path::{Path, PathBuf};
use std::process::Command;

use tapline_lab::tool;
use tempfile::TempDir;

/// The programs, in a temporary folder.
pub struct Peers(TempDir);

impl Peers {
    pub fn build() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/send/peer");
        for name in ["sendmmsg", "sendmmsg_file", "live_frames", "timer"] {
            let mut command = Command::new(tool::path("cc"));
            command.args(["-O2", "-o"]).arg(folder.path().join(name));
            command.arg(sources.join(name).with_extension("c"));
            let status = command.status().expect("a C compiler");
            assert!(status.success(), "{name}.c does not compile");
        }
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
