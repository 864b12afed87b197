//! `tapline run`: a program with `libtapline_pcap` in place of libpcap.

mod program;

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::program::{find, refusal};
use crate::args::RunArgs;
use crate::failure::{Exit, Failure};
use crate::screen::printable;

/// The library, as programs ask for it.
const LIBRARY: &str = "libtapline_pcap.so.1";

/// Where it is looked for, beside the folders of this program.
const FOLDERS: [&str; 4] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib",
    "/usr/lib64",
];

/// The variable that names libraries to load before those that a program asks for.
const PRELOAD: &str = "LD_PRELOAD";

/// The variable that names folders to search first for libraries.
const SEARCH: &str = "LD_LIBRARY_PATH";

/// Folder beside the library with links that have libpcap's names.
const LINKS: &str = "tapline";

/// Runs the command. Returns only if the program cannot be started.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let [name, arguments @ ..] = &args.command[..] else {
        return Err(Failure::new(Exit::Usage, "no program to run"));
    };
    let library = library(args.library.as_deref())?;
    let program = find(name).ok_or_else(|| {
        let shown = name.display();
        let line = if name.as_encoded_bytes().contains(&b'/') {
            format!("there is no program {shown}")
        } else {
            format!("cannot find {shown} in PATH")
        };
        Failure::new(Exit::Failed, line)
    })?;
    let shown = program.display();
    let refused = refusal(&program, arguments);
    if let Some(reason) = refused.map_err(|error| Failure::job_on(&shown, &error))? {
        let line = format!("cannot run {shown} with {LIBRARY}: {reason}");
        return Err(Failure::new(Exit::Unsupported, line));
    }
    if !args.quiet {
        let line = format!(
            "tapline: running {shown} with {} in place of libpcap",
            library.display()
        );
        // If standard error is closed, nobody can read the message.
        let _ = writeln!(std::io::stderr(), "{}", printable(&line));
    }
    let mut command = Command::new(&program);
    command.arg0(name).args(arguments);
    // Programs such as those in Python load libpcap by its name (dlopen(3)), which ignores libraries that are loaded.
    let links = library.parent().map(|folder| folder.join(LINKS));
    if let Some(links) = links.filter(|links| links.is_dir()) {
        command.env(SEARCH, before(links, SEARCH));
    }
    let error = command.env(PRELOAD, before(library, PRELOAD)).exec();
    Err(Failure::job_on(format!("cannot run {shown}"), &error))
}

/// `path` before what a variable has.
fn before(path: PathBuf, variable: &str) -> OsString {
    let mut list = path.into_os_string();
    if let Some(others) = env::var_os(variable).filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// The path of the library.
fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let candidates = match given {
        Some(path) => vec![path.to_owned()],
        None => candidates(),
    };
    let mut found = candidates
        .iter()
        .filter_map(|path| path.canonicalize().ok());
    let found = found.find(|path| path.is_file());
    let line = match given {
        Some(path) => format!("there is no library {}", path.display()),
        None => format!("cannot find {LIBRARY} (run 'make install', or name it with --library)"),
    };
    let path = found.ok_or_else(|| Failure::new(Exit::Failed, line))?;
    // The linker splits its variable at these.
    let separates = |byte: &u8| matches!(byte, b':' | b' ');
    if path.as_os_str().as_encoded_bytes().iter().any(separates) {
        let line = format!(
            "the path {} has a colon or a blank, which {PRELOAD} cannot hold",
            path.display()
        );
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(path)
}

fn candidates() -> Vec<PathBuf> {
    let program = env::current_exe().ok();
    let folder = program.as_deref().and_then(Path::parent);
    let beside = folder.into_iter().flat_map(|folder| {
        [
            folder.join("../lib"),
            folder.join("../lib64"),
            folder.to_owned(),
        ]
    });
    let folders = beside.chain(FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(LIBRARY)).collect()
}
