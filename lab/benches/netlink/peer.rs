//! Peers: the C programs and the one based on the rtnetlink crate, built for each run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tapline_lab::{Host, tool};
use tempfile::TempDir;

const SOURCES: [&str; 4] = ["main.c", "raw.c", "libnl.c", "process.c"];

/// Prefix of the rtnetlink crate's method names.
const RTNETLINK: &str = "rtnetlink, ";

/// The peer programs, in a temporary folder.
pub struct Peers {
    folder: TempDir,
    program: PathBuf,
    /// The rtnetlink program, or why it could not be built.
    pub rtnetlink: Result<PathBuf, String>,
}

impl Peers {
    pub fn build() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("peer");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/netlink/peer");
        let mut command = Command::new(tool::path("cc"));
        command.args(["-O2", "-I/usr/include/libnl3", "-o"]);
        command.arg(&program);
        command.args(SOURCES.map(|name| sources.join(name)));
        command.args(["-lnl-route-3", "-lnl-3"]);
        let status = command.status().expect("a C compiler");
        assert!(
            status.success(),
            "libnl3 is needed: apt-get install libnl-route-3-dev"
        );
        Self {
            folder,
            program,
            rtnetlink: rtnetlink(),
        }
    }

    /// Writes a file into the folder of the programs.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("room for a file");
        path
    }

    /// Runs `task` by `method` and returns its output: names and nanoseconds. Empty if the peer could not be built.
    pub fn run(&self, host: &Host, method: &str, task: &str, count: u32) -> Vec<(String, f64)> {
        let (program, method) = match (method.strip_prefix(RTNETLINK), &self.rtnetlink) {
            (None, _) => (&self.program, method),
            (Some(way), Ok(program)) => (program, way),
            (Some(_), Err(_)) => return Vec::new(),
        };
        let link = host.interface().index.to_string();
        let mut command = host.command(program.to_str().expect("a path of text"));
        command.args([method, task, &count.to_string(), &link]);
        // The peers run ip(8) through `PATH`.
        command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
        let output = command.output().expect("the peer runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{method} {task}: {said}");
        let text = String::from_utf8(output.stdout).expect("text");
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let figures =
            lines.map(|(name, value)| (name.to_owned(), value.parse().expect("a number")));
        figures.collect()
    }
}

/// Builds the peer, which is a separate package, below the target folder.
fn rtnetlink() -> Result<PathBuf, String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/netlink/rtnetlink");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rtnetlink");
    eprintln!("bench: building rtnetlink");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--manifest-path",
    ]);
    command.arg(package.join("Cargo.toml"));
    command.arg("--target-dir").arg(&target);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(text.lines().next().unwrap_or("cargo fails").to_owned());
    }
    Ok(target.join("release/rtnetlink-peer"))
}

/// Runs `ip` with `arguments` and discards its output.
pub fn ip(host: &Host, arguments: &[&str]) -> Duration {
    let mut command = host.command("ip");
    command.args(arguments).stdout(Stdio::null());
    let begin = Instant::now();
    let status = command.status().expect("ip runs");
    let took = begin.elapsed();
    assert!(status.success(), "ip {arguments:?}");
    took
}
