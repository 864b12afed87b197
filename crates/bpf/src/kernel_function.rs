//! Finds the kernel's functions that programs may call, in the kernel's description of its own types.
//!
//! ```text
//! header │ types, numbered from 1 │ names, each ended by a zero
//!          name, kind, size or type, then what the kind needs
//! ```

use std::fs;
use std::io::{self, ErrorKind};

/// The kernel's types and functions.
const PATH: &str = "/sys/kernel/btf/vmlinux";

/// `BTF_MAGIC`, in the byte order of the machine.
const MAGIC: u16 = 0xeb9f;

/// Bytes of a type before what its kind needs (`struct btf_type`).
const TYPE_BYTES: usize = 12;

/// `BTF_KIND_FUNC`.
const FUNCTION: u32 = 12;

/// The number of the kernel's function `name`, for [`Insn::CallKernel`](crate::Insn::CallKernel).
///
/// Reads some megabytes once.
///
/// # Errors
/// `NotFound` if the kernel has no such function or no description of its types; `InvalidData` if the description cannot
/// be understood.
/// # Privileges
/// None.
/// # Kernel
/// Linux 5.4 with `CONFIG_DEBUG_INFO_BTF`.
/// # Source
/// Documentation/bpf/btf.rst.
#[doc(alias = "kfunc")]
pub(crate) fn number(name: &str) -> io::Result<u32> {
    Ok(find(&fs::read(PATH)?, name)?)
}

fn find(bytes: &[u8], name: &str) -> Result<u32, ErrorKind> {
    let (types, names) = sections(bytes).ok_or(ErrorKind::InvalidData)?;
    let (mut at, mut number) = (0, 1);
    // Bound: each type takes at least 12 bytes.
    while let Some(head) = types.get(at..).and_then(|rest| rest.first_chunk()) {
        let [its_name, info, _] = words(head);
        let kind = info >> 24 & 0x1f;
        if kind == FUNCTION {
            let rest = names.get(its_name as usize..).unwrap_or_default();
            let rest = rest.strip_prefix(name.as_bytes());
            if rest.and_then(|rest| rest.first()) == Some(&0) {
                return Ok(number);
            }
        }
        let further = further_bytes(kind, (info & 0xffff) as usize);
        at += TYPE_BYTES + further.ok_or(ErrorKind::InvalidData)?;
        number += 1;
    }
    Err(ErrorKind::NotFound)
}

/// The types and the names; `None` if `bytes` is no such description.
fn sections(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = |at: usize| {
        let word = bytes.get(at..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*word) as usize)
    };
    let section = |at: usize| {
        let start = word(4)?.checked_add(word(at)?)?;
        bytes.get(start..start.checked_add(word(at + 4)?)?)
    };
    if u16::from_ne_bytes(*bytes.first_chunk()?) != MAGIC {
        return None;
    }
    Some((section(8)?, section(16)?))
}

fn words(head: &[u8; TYPE_BYTES]) -> [u32; 3] {
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    [word(0), word(4), word(8)]
}

/// Bytes after a type, which has `members`; `None` for an unknown kind.
fn further_bytes(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Pointers, forward declarations, names, qualifiers, functions, floats and type tags.
        2 | 7..=12 | 16 | 18 => 0,
        // Integers, variables and declaration tags.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Enumerators and parameters.
        6 | 13 => 8 * members,
        // Members of structures, unions and sections, and wide enumerators.
        4 | 5 | 15 | 19 => 12 * members,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure with one member, and two functions whose names begin alike.
    fn described() -> Vec<u8> {
        let strings = b"\0state\0deliver_all\0deliver\0";
        let types: [u32; 12] = [
            1,
            4 << 24 | 1,
            4,
            0,
            0,
            0,
            7,
            FUNCTION << 24,
            1,
            19,
            FUNCTION << 24,
            1,
        ];
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let sizes = [24, 0, 48, 48, strings.len() as u32];
        bytes.extend(
            sizes
                .iter()
                .chain(&types)
                .flat_map(|word| word.to_ne_bytes()),
        );
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn functions_are_found_by_their_whole_names() {
        let bytes = described();
        for (name, number) in [
            ("deliver", Ok(3)),
            ("deliver_all", Ok(2)),
            ("deliver_", Err(ErrorKind::NotFound)),
            ("state", Err(ErrorKind::NotFound)),
        ] {
            assert_eq!(find(&bytes, name), number, "{name}");
        }
    }

    #[test]
    fn a_damaged_description_does_not_panic() {
        let bytes = described();
        for end in 0..bytes.len() {
            let _ = find(&bytes[..end], "deliver");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let _ = find(&damaged, "deliver");
        }
        let refused = find(b"no description", "deliver");
        assert_eq!(refused, Err(ErrorKind::InvalidData));
    }
}
