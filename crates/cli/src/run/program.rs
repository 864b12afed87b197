//! The program that is to run, and whether the dynamic linker will load a library into it.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
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

/// Why the dynamic linker would not load a library into the program; `None` if it does.
///
/// # Source
/// ld.so(8), secure-execution mode; `cap_bprm_creds_from_file`, security/commoncap.c.
pub fn refusal(path: &Path) -> io::Result<Option<&'static str>> {
    let file = File::open(path)?;
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
    let mut bytes = vec![0; MOST_BYTES];
    let read = file.read_at(&mut bytes, 0)?;
    Ok(linkage_refusal(&bytes[..read]))
}

fn has_capabilities(path: &Path) -> io::Result<bool> {
    let mut value = [0_u8; 64];
    match rustix::fs::getxattr(path, "security.capability", &mut value[..]) {
        Ok(_) | Err(Errno::RANGE) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// As [`refusal`], from the beginning of the program's file.
fn linkage_refusal(bytes: &[u8]) -> Option<&'static str> {
    const ELF: &[u8] = b"\x7fELF";
    const CLASS_64: u8 = 2;
    const INTERPRETER: u32 = 3;
    // A script: the library goes into its interpreter.
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
