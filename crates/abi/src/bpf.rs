//! The bpf(2) system call: programs, maps and links, and classic filters for sockets.
//!
//! Each command has a struct with only the fields that it uses, laid out as that command's part of `union bpf_attr`
//! (`linux/bpf.h`). The kernel treats missing fields at the end as zero.
//! `tests/bpf_layout.rs` compares sizes and offsets with the C header.

mod attr;
mod instruction;
mod link;
mod map;
mod object;
mod program;
mod socket;
mod walk;

pub use attr::{
    LinkCreate, LinkUpdate, MapBatch, MapCreate, MapElement, ObjectId, ObjectInfo, ProgramLoad,
    ProgramQuery, ProgramTestRun, RawTracepoint, TypesLoad,
};
pub use instruction::{Instruction, SockFilter};
pub use link::{
    BPF_CGROUP_INET_EGRESS, BPF_CGROUP_INET4_POST_BIND, BPF_CGROUP_INET6_POST_BIND, BPF_F_BEFORE,
    BPF_TCX_EGRESS, BPF_TCX_INGRESS, XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, create_cgroup_link,
    create_tcx_link, create_xdp_link, open_raw_tracepoint, tcx_programs, update_link,
    wait_for_programs,
};
pub use map::{Map, MapLayout, MapType, MapTypes, online_cpus, possible_cpus};
pub use object::{MapInfo, ObjectKind, ProgramInfo, map_info, next_id, open_id, program_info};
pub use program::{
    BPF_F_TEST_XDP_LIVE_FRAMES, BPF_F_XDP_DEV_BOUND_ONLY, BPF_F_XDP_HAS_FRAGS,
    PROG_TYPE_CGROUP_SKB, PROG_TYPE_CGROUP_SOCK, PROG_TYPE_RAW_TRACEPOINT, PROG_TYPE_SCHED_CLS,
    PROG_TYPE_SOCKET_FILTER, PROG_TYPE_XDP, ProgramSource, TestRun, TestRunResult, load_program,
    program_id, test_run,
};
pub use socket::{attach_classic, set_fanout_program};
pub use walk::Cursor;
