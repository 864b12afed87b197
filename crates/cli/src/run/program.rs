//! The program that is to run, and whether the dynamic linker will load a library into what captures.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{getgid, getuid};

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
const EXECUTABLE: u32 = 0o111;

/// Header and program headers of an ELF file lie within so many bytes.
const MOST_BYTES: usize = 64 << 10;

/// The path of a program: as given if it has a slash, else the first in `PATH`.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    let given = Path::new(name);
    if name.as_encoded_bytes().contains(&b'/') {
        return is_program(given).then(|| given.to_owned());
    }
    let path = env::var_os("PATH")?;
    let mut candidates = env::split_paths(&path).map(|folder| folder.join(given));
    candidates.find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & EXECUTABLE != 0)
}

/// Interpreters of interpreters that the kernel follows (`exec_binprm`, fs/exec.c).
const MOST_INTERPRETERS: u32 = 5;

/// The kernel reads so many bytes of the first line of a script (`BINPRM_BUF_SIZE`).
const LINE_BYTES: usize = 256;

/// Programs that remove the variable of the linker before they start another program.
const CLEANERS: [&str; 2] = ["sudo", "doas"];

/// Programs that start `dumpcap` to capture.
const STARTERS: [&str; 2] = ["tshark", "wireshark"];

/// Why what captures would run without the library; `None` if it gets it.
pub fn refusal(program: &Path, arguments: &[OsString]) -> io::Result<Option<String>> {
    let name = program.file_name().unwrap_or_default();
    if CLEANERS.iter().any(|cleaner| name == *cleaner) || (name == "su" && is_login(arguments)) {
        let name = name.display();
        let reason =
            format!("it removes LD_PRELOAD from the environment (put {name} before tapline)");
        return Ok(Some(reason));
    }
    if let Some(reason) = linker_refusal(program, MOST_INTERPRETERS)? {
        return Ok(Some(reason));
    }
    if STARTERS.iter().any(|starter| name == *starter) {
        return Ok(dumpcap_refusal(program));
    }
    Ok(None)
}

/// Whether su(1) starts a login shell, whose environment is new.
fn is_login(arguments: &[OsString]) -> bool {
    let is_login = |argument: &OsString| {
        let bytes = argument.as_bytes();
        bytes == b"-" || bytes == b"--login" || bytes.starts_with(b"-l")
    };
    arguments.iter().any(is_login)
}

/// Why the `dumpcap` that a program starts would run without the library. It is beside the program, or in `PATH`.
fn dumpcap_refusal(program: &Path) -> Option<String> {
    const NAME: &str = "dumpcap";
    let beside = program.canonicalize().ok();
    let beside = beside.map(|program| program.with_file_name(NAME));
    let dumpcap = beside.filter(|path| is_program(path));
    let dumpcap = dumpcap.or_else(|| find(NAME.as_ref()))?;
    // A program that cannot be read cannot be started either, which tshark reports.
    let reason = linker_refusal(&dumpcap, 0).ok().flatten()?;
    Some(format!("it captures with {}: {reason}", dumpcap.display()))
}

/// Why the dynamic linker would not load a library into the program; `None` if it does. Of a script the interpreter counts.
///
/// # Source
/// ld.so(8), secure-execution mode; `cap_bprm_creds_from_file`, security/commoncap.c; `load_script`, fs/binfmt_script.c.
fn linker_refusal(path: &Path, interpreters: u32) -> io::Result<Option<String>> {
    let file = File::open(path)?;
    let mut bytes = vec![0; MOST_BYTES];
    let read = file.read_at(&mut bytes, 0)?;
    let bytes = &bytes[..read];
    let Some(interpreter) = interpreter(bytes).filter(|_| interpreters > 0) else {
        let reason = mode_refusal(path, &file)?;
        return Ok(reason.or_else(|| linkage_refusal(bytes)).map(str::to_owned));
    };
    // The kernel says what is wrong with an interpreter that cannot be read.
    let reason = linker_refusal(&interpreter, interpreters - 1)
        .ok()
        .flatten();
    Ok(reason.map(|reason| format!("its interpreter is {}: {reason}", interpreter.display())))
}

/// The interpreter of a script, also behind env(1).
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = &line[..line.len().min(LINE_BYTES)];
    let line = line.split(|&byte| byte == b'\n').next()?;
    let words = line.split(|byte| matches!(byte, b' ' | b'\t'));
    let mut words = words.filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let interpreter = Path::new(words.next()?);
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Some(interpreter.to_owned());
    }
    let is_name =
        |word: &&OsStr| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
    find(words.find(is_name)?)
}

/// As [`linker_refusal`], from the owner and the capabilities of a file that is no script.
fn mode_refusal(path: &Path, file: &File) -> io::Result<Option<&'static str>> {
    let metadata = file.metadata()?;
    let mode = metadata.mode();
    if mode & SETUID != 0 && metadata.uid() != getuid().as_raw() {
        return Ok(Some(
            "it is setuid, and the system loads no other library into such a program (run it as its owner)",
        ));
    }
    if mode & SETGID != 0 && metadata.gid() != getgid().as_raw() {
        return Ok(Some(
            "it is setgid, and the system loads no other library into such a program",
        ));
    }
    if !getuid().is_root() && has_capabilities(path)? {
        return Ok(Some(
            "it has file capabilities, and the system loads no other library into such a program (run it as root)",
        ));
    }
    Ok(None)
}

fn has_capabilities(path: &Path) -> io::Result<bool> {
    let mut value = [0_u8; 64];
    match rustix::fs::getxattr(path, "security.capability", &mut value[..]) {
        Ok(_) | Err(Errno::RANGE) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// As [`linker_refusal`], from the beginning of the program's file.
fn linkage_refusal(bytes: &[u8]) -> Option<&'static str> {
    const ELF: &[u8] = b"\x7fELF";
    const CLASS_64: u8 = 2;
    const INTERPRETER: u32 = 3;
    // Programs of other formats have an interpreter that the kernel knows.
    if !bytes.starts_with(ELF) {
        return None;
    }
    if bytes.get(4) != Some(&CLASS_64) {
        return Some("it is a 32-bit program");
    }
    // Programs that run here have the byte order of this machine.
    let number = |at: usize| Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let offset = bytes.get(32..).and_then(|rest| rest.first_chunk());
    let offset = offset.map_or(0, |offset| u64::from_ne_bytes(*offset));
    let (size, count) = (number(54).unwrap_or(0), number(56).unwrap_or(0));
    let is_interpreter = |place: u64| {
        let place = usize::try_from(offset.saturating_add(place * u64::from(size))).ok()?;
        let kind = bytes.get(place..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*kind) == INTERPRETER)
    };
    let is_dynamic = (0..u64::from(count)).any(|place| is_interpreter(place) == Some(true));
    (!is_dynamic).then_some("it is a static program, which loads no libraries")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the programs of this machine: the shell is dynamic.
    #[test]
    fn dynamic_programs_and_scripts_are_accepted() {
        let shell = std::fs::read("/bin/sh").expect("a shell");
        assert_eq!(linkage_refusal(&shell), None);
        assert_eq!(linkage_refusal(b"#!/bin/sh\n"), None);
        assert_eq!(linkage_refusal(b""), None);
    }

    #[test]
    fn the_interpreter_of_a_script_is_found_also_behind_env() {
        let of = |text: &str| interpreter(text.as_bytes());
        assert_eq!(of("#!/bin/sh\n"), Some("/bin/sh".into()));
        assert_eq!(of("#! /usr/bin/perl -w\n"), Some("/usr/bin/perl".into()));
        assert_eq!(of("#!/bin/sh"), Some("/bin/sh".into()));
        let shell = find(OsStr::new("sh"));
        assert!(shell.is_some());
        assert_eq!(of("#!/usr/bin/env sh\n"), shell);
        assert_eq!(of("#!/usr/bin/env -S A=1 sh -e\n"), shell);
        assert_eq!((of("#!\n"), of("sh\n"), of("")), (None, None, None));
    }

    #[test]
    fn su_starts_a_login_shell_only_if_it_has_to() {
        let is_login = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
            super::is_login(&arguments)
        };
        assert!(is_login(&["-"]) && is_login(&["--login", "root"]) && is_login(&["-l"]));
        assert!(!is_login(&["root", "-c", "tcpdump"]));
    }

    #[test]
    fn static_and_damaged_programs_are_refused() {
        let mut header = [0; 64];
        header[..5].copy_from_slice(b"\x7fELF\x02");
        assert!(linkage_refusal(&header).is_some_and(|text| text.contains("static")));
        header[32..40].fill(0xff);
        header[54..58].fill(0xff);
        assert!(linkage_refusal(&header).is_some_and(|text| text.contains("static")));
        header[4] = 1;
        assert_eq!(linkage_refusal(&header), Some("it is a 32-bit program"));
    }
}
