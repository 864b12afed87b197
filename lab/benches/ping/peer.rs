//! bpfpinger and pinger are Go libraries; this module builds a small program around each.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Go library, and the program around it.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    name: &'static str,
    module: &'static str,
    main: &'static str,
    /// Environment variable that may name a folder with its source.
    source: &'static str,
}

pub const BPFPINGER: Peer = Peer {
    name: "bpfpinger",
    module: "github.com/chenjiandongx/bpfpinger",
    main: include_str!("peer/bpfpinger.go"),
    source: "BPFPINGER",
};

pub const PINGER: Peer = Peer {
    name: "pinger",
    module: "github.com/chenjiandongx/pinger",
    main: include_str!("peer/pinger.go"),
    source: "PINGER",
};

/// Go's installation path, which may be missing from `PATH`.
const GO: &str = "/usr/local/go/bin/go";

impl Peer {
    /// Builds the program below the target folder, once. Go downloads the library's source, unless the environment names a
    /// folder with it. `Err` is a one-line reason why the build failed.
    pub fn build(&self) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(self.name);
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
        write("main.go", self.main)?;
        let mut text = "module peer\n\ngo 1.19\n".to_owned();
        if let Ok(source) = env::var(self.source) {
            let module = self.module;
            let lines = format!("\nrequire {module} v0.0.0\n\nreplace {module} => {source}\n");
            text.push_str(&lines);
        }
        write("go.mod", &text)?;
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
}
