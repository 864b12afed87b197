//! Where the file is while it is being written, and where it is kept.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use crate::failure::Failure;

const NAME: &str = "demo.pcapng";

/// A new directory, which is removed with what is in it unless the file is finished. Only a program
/// that is killed outright leaves it.
pub struct Place {
    scratch: TempDir,
    /// Where the finished file goes, if not where it is.
    target: Option<PathBuf>,
    file: PathBuf,
}

impl Place {
    /// Makes the directory: below `directory`, to which the file will go, or below the system's for
    /// temporary files, where it will stay.
    pub fn prepare(directory: Option<&Path>) -> Result<Self, Failure> {
        let parent = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        let mut builder = Builder::new();
        builder.prefix("tapline-demo-");
        // The file is there to be looked at, by others than root too.
        builder.permissions(Permissions::from_mode(0o755));
        let failed =
            |error| Failure::job_on(format!("cannot write to {}", parent.display()), &error);
        // Asked first, for a clear answer: the error of making a directory in it names that one.
        fs::metadata(&parent).map_err(failed)?;
        let scratch = builder.tempdir_in(&parent).map_err(failed)?;
        Ok(Self {
            file: scratch.path().join(NAME),
            target: directory.map(|directory| directory.join(NAME)),
            scratch,
        })
    }

    /// Where the file is being written.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where the finished file will be.
    pub fn shown(&self) -> &Path {
        self.target.as_deref().unwrap_or(&self.file)
    }

    /// Keeps the file and says where it is.
    pub fn finish(self) -> Result<PathBuf, Failure> {
        // Capture files are private. What is in this one is the demo's own, and whoever has started it
        // by way of root wants to read it.
        fs::set_permissions(&self.file, Permissions::from_mode(0o644))
            .map_err(|error| Failure::job_on("cannot let others read the file", &error))?;
        let Some(target) = self.target else {
            let _ = self.scratch.keep();
            return Ok(self.file);
        };
        fs::rename(&self.file, &target).map_err(|error| {
            Failure::job_on(
                format!("cannot move the file to {}", target.display()),
                &error,
            )
        })?;
        Ok(target)
    }
}
