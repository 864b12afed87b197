//! bpfpinger is a Go library; this module builds a small program around it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "github.com/chenjiandongx/bpfpinger";
const MAIN: &str = include_str!("peer/main.go");

/// Go's installation path, which may be missing from `PATH`.
const GO: &str = "/usr/local/go/bin/go";

/// Builds the program below the target folder, once. Go downloads bpfpinger's source, unless `BPFPINGER` names a folder
/// with it. `Err` is a one-line reason why the build failed.
pub fn build() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bpfpinger");
    let program = folder.join("peer");
    if program.is_file() {
        return Ok(program);
    }
    let in_path = Command::new("go").arg("version").output().is_ok();
    let go = if in_path { "go" } else { GO };
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|error| error.to_string())
    };
    write("main.go", MAIN)?;
    let mut module = "module peer\n\ngo 1.19\n".to_owned();
    if let Ok(source) = env::var("BPFPINGER") {
        let lines = format!("\nrequire {MODULE} v0.0.0\n\nreplace {MODULE} => {source}\n");
        module.push_str(&lines);
    }
    write("go.mod", &module)?;
    for arguments in [&["mod", "tidy"][..], &["build", "-o", "peer", "."]] {
        let output = Command::new(go)
            .args(arguments)
            .current_dir(&folder)
            .output();
        let output = output.map_err(|error| format!("Go is not there ({error})"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = text.lines().last().unwrap_or_default().trim();
            return Err(format!("go {} says: {last}", arguments[0]));
        }
    }
    Ok(program)
}
