//! bpfpinger, which is a library for Go: a small program around it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "github.com/chenjiandongx/bpfpinger";
const MAIN: &str = include_str!("peer/main.go");

/// Where Go puts itself, which not every path has.
const GO: &str = "/usr/local/go/bin/go";

/// Builds it below the target folder, once. Its source is fetched by Go, or is in the folder that
/// `BPFPINGER` names. `Err` is why that does not work, in one line.
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
