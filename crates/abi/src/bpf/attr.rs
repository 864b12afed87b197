//! The arguments of each bpf(2) command, and the system call.

use std::ffi::{c_int, c_long};
use std::io;

use crate::kernel::raise_locked_memory;

pub(super) const BPF_MAP_CREATE: c_int = 0;
pub(super) const BPF_MAP_LOOKUP_ELEM: c_int = 1;
pub(super) const BPF_MAP_UPDATE_ELEM: c_int = 2;
pub(super) const BPF_MAP_DELETE_ELEM: c_int = 3;
pub(super) const BPF_MAP_GET_NEXT_KEY: c_int = 4;
pub(super) const BPF_PROG_LOAD: c_int = 5;
pub(super) const BPF_PROG_TEST_RUN: c_int = 10;
pub(super) const BPF_PROG_GET_NEXT_ID: c_int = 11;
pub(super) const BPF_MAP_GET_NEXT_ID: c_int = 12;
pub(super) const BPF_PROG_GET_FD_BY_ID: c_int = 13;
pub(super) const BPF_MAP_GET_FD_BY_ID: c_int = 14;
pub(super) const BPF_OBJ_GET_INFO_BY_FD: c_int = 15;
pub(super) const BPF_RAW_TRACEPOINT_OPEN: c_int = 17;
pub(super) const BPF_BTF_LOAD: c_int = 18;
pub(super) const BPF_MAP_FREEZE: c_int = 22;
pub(super) const BPF_PROG_QUERY: c_int = 16;
pub(super) const BPF_MAP_LOOKUP_BATCH: c_int = 24;
pub(super) const BPF_MAP_UPDATE_BATCH: c_int = 26;
pub(super) const BPF_LINK_CREATE: c_int = 28;
pub(super) const BPF_LINK_UPDATE: c_int = 29;

/// `BPF_OBJ_NAME_LEN`: bytes of a name, including its final zero.
pub(super) const NAME_BYTES: usize = 16;

/// Arguments of `BPF_MAP_CREATE`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MapCreate {
    /// `BPF_MAP_TYPE_*`.
    pub map_type: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Number of entries.
    pub max_entries: u32,
    /// `BPF_F_*` of maps.
    pub map_flags: u32,
    /// Template of the inner maps; 0 for a map of values.
    pub inner_map_fd: u32,
    /// NUMA node, if the flags say so.
    pub numa_node: u32,
    /// Name, ended by a zero.
    pub map_name: [u8; NAME_BYTES],
    /// Device the map is bound to; 0 for none.
    pub map_ifindex: u32,
    /// Descriptor of the types; 0 for none.
    pub btf_fd: u32,
    /// Type of the keys.
    pub btf_key_type_id: u32,
    /// Type of the values.
    pub btf_value_type_id: u32,
}

/// Arguments of `BPF_BTF_LOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TypesLoad {
    /// Address of the types.
    pub btf: u64,
    /// Address of the log; 0 for none.
    pub btf_log_buf: u64,
    /// Bytes of the types.
    pub btf_size: u32,
    /// Bytes of the log.
    pub btf_log_size: u32,
    /// Log level; 0 disables the log.
    pub btf_log_level: u32,
    /// Out: bytes that the whole log would take.
    pub btf_log_true_size: u32,
}

/// Arguments of the `BPF_MAP_*_ELEM` commands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MapElement {
    /// Descriptor of the map.
    pub map_fd: u32,
    /// Zero.
    pub padding: u32,
    /// Address of the key.
    pub key: u64,
    /// Address of the value.
    pub value: u64,
    /// `BPF_ANY` or a related flag.
    pub flags: u64,
}

/// Arguments of the `BPF_MAP_*_BATCH` commands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MapBatch {
    /// Address of the position from which to continue.
    pub in_batch: u64,
    /// Address where the kernel stores the next position.
    pub out_batch: u64,
    /// Address of the keys.
    pub keys: u64,
    /// Address of the values.
    pub values: u64,
    /// In: number of entries; out: number of entries processed.
    pub count: u32,
    /// Descriptor of the map.
    pub map_fd: u32,
    /// `BPF_ANY` or a related flag.
    pub elem_flags: u64,
    /// Zero.
    pub flags: u64,
}

/// Arguments of `BPF_PROG_LOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramLoad {
    /// `BPF_PROG_TYPE_*`.
    pub prog_type: u32,
    /// Number of slots.
    pub insn_cnt: u32,
    /// Address of the slots.
    pub insns: u64,
    /// Address of the licence, ended by a zero.
    pub license: u64,
    /// Log level of the verifier; 0 disables the log.
    pub log_level: u32,
    /// Bytes of the log.
    pub log_size: u32,
    /// Address of the log.
    pub log_buf: u64,
    /// Zero.
    pub kern_version: u32,
    /// `BPF_F_*` of programs.
    pub prog_flags: u32,
    /// Name, ended by a zero.
    pub prog_name: [u8; NAME_BYTES],
    /// Device the program is bound to; 0 for none.
    pub prog_ifindex: u32,
    /// Attach type, for program types that have several.
    pub expected_attach_type: u32,
}

/// Arguments of `BPF_RAW_TRACEPOINT_OPEN`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RawTracepoint {
    /// Address of the name, ended by a zero.
    pub name: u64,
    /// Descriptor of the program.
    pub prog_fd: u32,
    /// Zero.
    pub padding: u32,
}

/// Arguments and answers of `BPF_PROG_TEST_RUN`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramTestRun {
    /// Descriptor of the program.
    pub prog_fd: u32,
    /// Out: return value of the last run.
    pub retval: u32,
    /// Bytes of the packet.
    pub data_size_in: u32,
    /// In: room for the packet after the run; out: its length.
    pub data_size_out: u32,
    /// Address of the packet.
    pub data_in: u64,
    /// Address of the room for the packet afterwards.
    pub data_out: u64,
    /// Number of runs.
    pub repeat: u32,
    /// Answer: mean nanoseconds of a run.
    pub duration: u32,
    /// Bytes of the context.
    pub ctx_size_in: u32,
    /// Room for the context afterwards.
    pub ctx_size_out: u32,
    /// Address of the context.
    pub ctx_in: u64,
    /// Address of the room for the context afterwards.
    pub ctx_out: u64,
    /// `BPF_F_TEST_*`.
    pub flags: u32,
    /// CPU to run on, if the flags say so.
    pub cpu: u32,
    /// Live frames: batch size.
    pub batch_size: u32,
    /// Zero.
    pub padding: u32,
}

/// Arguments of `BPF_OBJ_GET_INFO_BY_FD`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectInfo {
    /// Descriptor of the object.
    pub bpf_fd: u32,
    /// Room for the information, bytes.
    pub info_len: u32,
    /// Address of the room.
    pub info: u64,
}

/// Arguments of the `BPF_*_GET_NEXT_ID` and `BPF_*_GET_FD_BY_ID` commands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectId {
    /// Id of the object, or the id after which to search.
    pub id: u32,
    /// Out: the next id.
    pub next_id: u32,
    /// Zero.
    pub open_flags: u32,
}

/// Arguments of `BPF_LINK_CREATE`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkCreate {
    /// Descriptor of the program.
    pub prog_fd: u32,
    /// Interface index.
    pub target_ifindex: u32,
    /// `enum bpf_attach_type`.
    pub attach_type: u32,
    /// `XDP_FLAGS_*` for XDP.
    pub flags: u32,
}

/// Arguments of `BPF_LINK_UPDATE`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkUpdate {
    /// Descriptor of the link.
    pub link_fd: u32,
    /// Descriptor of the new program.
    pub new_prog_fd: u32,
    /// `BPF_F_REPLACE` or nothing.
    pub flags: u32,
}

/// Arguments of `BPF_PROG_QUERY`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramQuery {
    /// Interface.
    pub target_ifindex: u32,
    /// `enum bpf_attach_type`.
    pub attach_type: u32,
    /// `BPF_F_QUERY_*`.
    pub query_flags: u32,
    /// Out: `BPF_F_*`.
    pub attach_flags: u32,
    /// Address of the numbers of programs.
    pub program_ids: u64,
    /// In: room for ids; out: number of programs.
    pub count: u32,
    /// Unused.
    pub padding: u32,
    /// Address of flags, one per program; unused.
    pub program_attach_flags: u64,
    /// Address of link ids; unused.
    pub link_ids: u64,
    /// Address of flags, one per link; unused.
    pub link_attach_flags: u64,
    /// Out: how often the list has changed.
    pub revision: u64,
}

/// Argument of one command: its part of `union bpf_attr`.
///
/// # Safety
/// `repr(C)` without padding, so that every byte the kernel reads is one that was set.
pub(super) unsafe trait Attr {}

// SAFETY: u32 and bytes only, 60 bytes: no padding.
unsafe impl Attr for MapCreate {}
// SAFETY: two u64 and then four u32: no padding.
unsafe impl Attr for TypesLoad {}
// SAFETY: the pad before `key` is a field; the u64s start at multiples of 8.
unsafe impl Attr for MapElement {}
// SAFETY: two u32 between u64s: no padding.
unsafe impl Attr for MapBatch {}
// SAFETY: the u64s start at 8, 16 and 32, and 72 is a multiple of 8: no padding.
unsafe impl Attr for ProgramLoad {}
// SAFETY: the u64s start at 16, 24, 48 and 56; the pad at the end is a field.
unsafe impl Attr for ProgramTestRun {}
// SAFETY: the padding after the u32 is a field.
unsafe impl Attr for RawTracepoint {}
// SAFETY: two u32 before a u64: no padding.
unsafe impl Attr for ObjectInfo {}
// SAFETY: u32 only: no padding.
unsafe impl Attr for ObjectId {}
// SAFETY: u32 only: no padding.
unsafe impl Attr for LinkCreate {}
// SAFETY: u32 only: no padding.
unsafe impl Attr for LinkUpdate {}
// SAFETY: the u64s start at 16 and 32, and the pad before the latter is a field.
unsafe impl Attr for ProgramQuery {}

/// Calls bpf(2); the kernel may write answers into `attr`. If the call fails because of the limit of locked
/// memory, raises this process's limit and calls it again.
///
/// # Safety
/// Every address in `attr` is valid for the accesses that `command` makes through it.
pub(super) unsafe fn bpf<T: Attr>(command: c_int, attr: &mut T) -> io::Result<c_int> {
    let bytes = size_of::<T>() as libc::c_ulong;
    let place: *mut T = attr;
    let call = || {
        // SAFETY: the kernel reads `bytes` bytes of `attr`, all set (`Attr`), and writes back only
        // inside the fields of the command, which `T` has; the addresses are the caller's promise.
        let result: c_long = unsafe { libc::syscall(libc::SYS_bpf, command, place, bytes) };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(result as c_int)
        }
    };
    match call() {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) && raise_locked_memory() => call(),
        result => result,
    }
}

/// A name as the kernel accepts it: at most 15 letters, digits, `_` and `.`. Other characters become `_`.
pub(super) fn object_name(name: &str) -> [u8; NAME_BYTES] {
    let mut out = [0; NAME_BYTES];
    for (to, byte) in out[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
        let allowed = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
        *to = if allowed { byte } else { b'_' };
    }
    out
}
