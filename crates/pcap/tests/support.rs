//! The library of this build, and programs that run with it and with libpcap.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;

use lab::Host;
use lab::guest::Guest;
use lab::once;
use lab::vm::VirtualMachine;

/// Which library a program runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// The libpcap of the machine.
    Libpcap,
    /// Ours.
    Tapline,
}

pub const BOTH: [Library; 2] = [Library::Libpcap, Library::Tapline];

/// This crate.
pub fn room() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The repository.
pub fn repository() -> &'static Path {
    room().ancestors().nth(2).expect("crates/pcap is below it")
}

/// The library that tcpdump runs with.
pub fn libpcap() -> PathBuf {
    let output = succeed(Command::new("ldd").arg(lab::tool::path("tcpdump")));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut paths = text.lines().filter(|line| line.contains("libpcap.so"));
    let path = paths.next().and_then(|line| line.split_whitespace().nth(2));
    path.expect("tcpdump is linked with libpcap").into()
}

/// A folder of this test program for what it builds.
pub fn built() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pcap");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Where a virtual machine has the library.
pub const GUEST_LIBRARY: &str = "/lib/libtapline_pcap.so";

/// Whether this program runs in a virtual machine.
pub fn is_guest() -> bool {
    std::env::var_os(VirtualMachine::INSIDE).is_some()
}

/// The shared library that cargo built with this program: the newest one beside it.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if is_guest() {
            return GUEST_LIBRARY.into();
        }
        let program = std::env::current_exe().expect("this program");
        let folder = program.parent().expect("its folder");
        let entries = fs::read_dir(folder).expect("the folder of dependencies");
        let libraries = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                name.starts_with("libtapline_pcap")
                    && path.extension().is_some_and(|end| end == "so")
            });
        let newest = libraries.max_by_key(|path| {
            let metadata = path.metadata().expect("its metadata");
            metadata.modified().expect("its time")
        });
        newest.expect("cargo builds the shared library")
    })
}

/// A folder with links to the library that have libpcap's names, for `LD_LIBRARY_PATH`.
pub fn folder_of_links() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = built().join(format!("links-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for name in ["libpcap.so.0.8", "libpcap.so.1"] {
            symlink(library(), folder.join(name)).expect("a link");
        }
        folder
    })
}

impl Library {
    /// Has `command` run with this library.
    pub fn load(self, command: &mut Command) -> &mut Command {
        match self {
            Self::Libpcap => command.env_remove("LD_PRELOAD"),
            Self::Tapline => command.env("LD_PRELOAD", library()),
        }
    }
}

/// The capture files of a folder of the corpus.
pub fn captures(folder: &str) -> Vec<PathBuf> {
    let folder = repository().join("lab/corpus").join(folder);
    let entries = fs::read_dir(&folder).expect("a folder of the corpus");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| {
        let end = file.extension().unwrap_or_default();
        end == "pcap" || end == "pcapng"
    });
    files.sort();
    files
}

/// Starts a program whose standard error says when packets are queued: in the line with `ready`.
#[track_caller]
pub fn begin(
    host: &Host,
    library: Library,
    program: &str,
    arguments: &[&str],
    ready: &str,
) -> Child {
    let mut command = host.command(program);
    command.args(arguments);
    begin_command(command, library, ready)
}

/// As [`begin`], for a command of a host.
#[track_caller]
pub fn begin_command(mut command: Command, library: Library, ready: &str) -> Child {
    library
        .load(&mut command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.as_mut().expect("a pipe")).lines();
    let mut before = Vec::new();
    let is_ready = |line: Result<String, _>| {
        let line = line.unwrap_or_default();
        before.push(line);
        before.last().is_some_and(|line| line.contains(ready))
    };
    let is_ready = lines.any(is_ready);
    assert!(is_ready, "{command:?} is not ready: {before:#?}");
    child
}

/// What a program printed that ends by itself.
pub fn end(mut child: Child) -> String {
    let mut printed = String::new();
    let output = child.stdout.as_mut().expect("a pipe");
    output.read_to_string(&mut printed).expect("text");
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}: {printed}");
    printed
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// The program of `tests/programs/NAME.c`, built once against the machine's libpcap.
pub fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let source = room().join(format!("tests/programs/{name}.c"));
    compile_source(&source, name, flags)
}

/// The program of a file, as [`compile`].
pub fn compile_source(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let program = built().join(format!("{name}-{}-{}", flags.len(), std::process::id()));
    once::build(&program, || {
        let mut command = Command::new("gcc");
        command
            .args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror"])
            .arg(source)
            .arg("-o")
            .arg(&program)
            .args(flags)
            .args(["-lpcap", "-pthread"]);
        succeed(&mut command);
    });
    program
}

/// A program that runs on a host and prints lines.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Starts `program ARGUMENTS` on `host` with `library`.
#[track_caller]
pub fn start(host: &Host, library: Library, program: &Path, arguments: &[&str]) -> Running {
    let mut command = host.command(program.to_str().expect("a path of text"));
    library.load(command.args(arguments));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Running {
        input: child.stdin.take(),
        lines: BufReader::new(child.stdout.take().expect("a pipe")).lines(),
        child,
    }
}

impl Running {
    /// Waits until the program prints `ready`; returns the lines before.
    #[track_caller]
    pub fn ready(&mut self) -> Vec<String> {
        let lines = self.lines.by_ref().map(|line| line.expect("text"));
        let mut before = Vec::new();
        for line in lines {
            if line == "ready" {
                return before;
            }
            before.push(line);
        }
        panic!("it ended before it was ready: {before:#?}");
    }

    /// Sends the program a line with the number of packets that were sent.
    #[track_caller]
    pub fn tell(&mut self, packets: u64) {
        let input = self.input.as_mut().expect("a pipe");
        writeln!(input, "{packets}").expect("the program reads it");
    }

    /// The remaining lines of a program that succeeds.
    #[track_caller]
    pub fn finish(mut self) -> Vec<String> {
        drop(self.input.take());
        let lines = self.lines.map(|line| line.expect("text")).collect();
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {lines:#?}");
        lines
    }
}
