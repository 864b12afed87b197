//! Programs and maps in the kernel, created by any process.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::attr::{
    BPF_MAP_GET_FD_BY_ID, BPF_MAP_GET_NEXT_ID, BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_GET_FD_BY_ID,
    BPF_PROG_GET_NEXT_ID, NAME_BYTES, ObjectId, ObjectInfo, bpf,
};

/// Kinds of kernel objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A program.
    Program,
    /// A map.
    Map,
}

impl ObjectKind {
    fn next_id(self) -> c_int {
        match self {
            Self::Program => BPF_PROG_GET_NEXT_ID,
            Self::Map => BPF_MAP_GET_NEXT_ID,
        }
    }

    fn descriptor(self) -> c_int {
        match self {
            Self::Program => BPF_PROG_GET_FD_BY_ID,
            Self::Map => BPF_MAP_GET_FD_BY_ID,
        }
    }
}

/// The lowest id above `id` of an object of this kind. `None` if there is none.
///
/// # Errors
/// EPERM without the privilege.
/// # Privileges
/// `CAP_SYS_ADMIN`.
/// # Kernel
/// Linux 4.13.
#[doc(alias = "BPF_PROG_GET_NEXT_ID")]
pub fn next_id(kind: ObjectKind, id: u32) -> io::Result<Option<u32>> {
    let mut attr = ObjectId {
        id,
        ..ObjectId::default()
    };
    // SAFETY: `ObjectId` holds no address.
    match unsafe { bpf(kind.next_id(), &mut attr) } {
        Ok(_) => Ok(Some(attr.next_id)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens an object by id; the descriptor keeps it alive. `None` if it is gone.
///
/// # Errors
/// EPERM without the privilege.
/// # Privileges
/// `CAP_SYS_ADMIN`.
/// # Kernel
/// Linux 4.13.
#[doc(alias = "BPF_PROG_GET_FD_BY_ID")]
pub fn open_id(kind: ObjectKind, id: u32) -> io::Result<Option<OwnedFd>> {
    let mut attr = ObjectId {
        id,
        ..ObjectId::default()
    };
    // SAFETY: `ObjectId` holds no address.
    match unsafe { bpf(kind.descriptor(), &mut attr) } {
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        Ok(fd) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The beginning of `struct bpf_prog_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramInfo {
    /// `BPF_PROG_TYPE_*`.
    pub program_type: u32,
    /// Its number.
    pub id: u32,
    /// Tag, four sizes and addresses, time and user: not requested.
    pub unused: [u32; 14],
    /// Its name, ended by a zero.
    pub name: [u8; NAME_BYTES],
}

/// The beginning of `struct bpf_map_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MapInfo {
    /// `BPF_MAP_TYPE_*`.
    pub map_type: u32,
    /// Its number.
    pub id: u32,
    /// Bytes of a key, bytes of a value, number of entries, flags.
    pub unused: [u32; 4],
    /// Its name, ended by a zero.
    pub name: [u8; NAME_BYTES],
}

impl ProgramInfo {
    /// Its name; empty if it has none.
    pub fn name(&self) -> String {
        text(&self.name)
    }
}

impl MapInfo {
    /// Its name; empty if it has none.
    pub fn name(&self) -> String {
        text(&self.name)
    }
}

fn text(name: &[u8]) -> String {
    let bytes = name.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads information about an object.
///
/// # Safety
/// `repr(C)`, numbers and bytes only, without padding; the beginning of the `bpf_*_info` of one kind
/// of object. Zeroed pointers and sizes in it make the kernel write nothing outside the struct.
unsafe trait Info: Default {}

// SAFETY: u32 and bytes only; its sizes and addresses are zero, so the kernel copies no code or ids.
unsafe impl Info for ProgramInfo {}
// SAFETY: u32 and bytes only.
unsafe impl Info for MapInfo {}

fn info<T: Info>(object: BorrowedFd<'_>) -> io::Result<T> {
    let mut info = T::default();
    let mut attr = ObjectInfo {
        bpf_fd: object.as_raw_fd().cast_unsigned(),
        info_len: size_of::<T>() as u32,
        info: (&raw mut info) as u64,
    };
    // SAFETY: the kernel reads and writes at most `info_len` bytes at `info`, which is that long and
    // outlives the call; any bytes are a valid `Info`.
    unsafe { bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attr) }?;
    Ok(info)
}

/// Information about a program.
///
/// # Errors
/// Errors of `BPF_OBJ_GET_INFO_BY_FD`.
/// # Kernel
/// Linux 4.15 (names).
#[doc(alias = "bpf_prog_info")]
pub fn program_info(program: BorrowedFd<'_>) -> io::Result<ProgramInfo> {
    info(program)
}

/// Information about a map.
///
/// # Errors
/// Errors of `BPF_OBJ_GET_INFO_BY_FD`.
/// # Kernel
/// Linux 4.15 (names).
#[doc(alias = "bpf_map_info")]
pub fn map_info(map: BorrowedFd<'_>) -> io::Result<MapInfo> {
    info(map)
}
