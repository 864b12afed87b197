//! Outputs that are inputs: making the file would destroy what is to be read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::args::OutputArgs;
use crate::failure::{Exit, Failure};
use crate::output;

/// Refuses a name that is, or with rotation may become, one of `files`.
pub fn refuse(args: &OutputArgs, files: &[PathBuf]) -> Result<(), Failure> {
    let Some(path) = args
        .write
        .as_deref()
        .filter(|path| !output::is_stdout(path))
    else {
        return Ok(());
    };
    let mut compressed = path.as_os_str().to_owned();
    compressed.push(".zst");
    let outputs = [identity(path), identity(Path::new(&compressed))];
    let rotates = output::rotation(args).is_any();
    for file in files {
        let found = identity(file);
        let is_output = found.is_some() && outputs.contains(&found);
        if is_output || rotates && is_of_row(file, path) {
            let line = format!(
                "{} is to be read: writing to {} would overwrite it",
                file.display(),
                path.display()
            );
            return Err(Failure::new(Exit::Usage, line));
        }
    }
    Ok(())
}

/// Device and inode of a regular file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    file.is_file().then(|| (file.dev(), file.ino()))
}

/// Whether `file` has a name of the row that rotation makes of `path`: `STEM_…` beside it.
fn is_of_row(file: &Path, path: &Path) -> bool {
    let folder = |path: &Path| {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()
    };
    let (Some(name), Some(stem)) = (file.file_name(), path.file_stem()) else {
        return false;
    };
    let stem = Path::new(stem).with_extension("");
    let start = [stem.as_os_str().as_encoded_bytes(), b"_"].concat();
    name.as_encoded_bytes().starts_with(&start) && folder(file) == folder(path)
}
