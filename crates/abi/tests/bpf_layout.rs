//! The structs of bpf(2) against `linux/bpf.h` and `linux/filter.h`, as a C compiler lays them out.

use std::mem::offset_of;

use crate::c_layout::assert_as_in_c;
use abi::bpf::{
    Instruction, LinkCreate, LinkUpdate, MapBatch, MapCreate, MapElement, MapInfo, MapType,
    ObjectId, ObjectInfo, ProgramInfo, ProgramLoad, ProgramQuery, ProgramTestRun, RawTracepoint,
    SockFilter,
};
use abi::ring_buffer::{BUSY, HEADER_BYTES};
use tapline_abi as abi;

const HEADERS: &str = "#include <linux/bpf.h>\n#include <linux/filter.h>\n\
                       #define at(f) offsetof(union bpf_attr, f)";

#[test]
fn structs_lie_as_in_the_kernels_headers() {
    let pairs = [
        ("at(map_type)", offset_of!(MapCreate, map_type)),
        ("at(key_size)", offset_of!(MapCreate, key_size)),
        ("at(value_size)", offset_of!(MapCreate, value_size)),
        ("at(max_entries)", offset_of!(MapCreate, max_entries)),
        ("at(map_flags)", offset_of!(MapCreate, map_flags)),
        ("at(inner_map_fd)", offset_of!(MapCreate, inner_map_fd)),
        ("at(numa_node)", offset_of!(MapCreate, numa_node)),
        ("at(map_name)", offset_of!(MapCreate, map_name)),
        ("at(map_ifindex)", size_of::<MapCreate>()),
        ("at(map_fd)", offset_of!(MapElement, map_fd)),
        ("at(key)", offset_of!(MapElement, key)),
        ("at(value)", offset_of!(MapElement, value)),
        ("at(flags)", offset_of!(MapElement, flags)),
        ("at(prog_type)", offset_of!(ProgramLoad, prog_type)),
        ("at(insn_cnt)", offset_of!(ProgramLoad, insn_cnt)),
        ("at(insns)", offset_of!(ProgramLoad, insns)),
        ("at(license)", offset_of!(ProgramLoad, license)),
        ("at(log_level)", offset_of!(ProgramLoad, log_level)),
        ("at(log_size)", offset_of!(ProgramLoad, log_size)),
        ("at(log_buf)", offset_of!(ProgramLoad, log_buf)),
        ("at(kern_version)", offset_of!(ProgramLoad, kern_version)),
        ("at(prog_flags)", offset_of!(ProgramLoad, prog_flags)),
        ("at(prog_name)", offset_of!(ProgramLoad, prog_name)),
        ("at(prog_ifindex)", offset_of!(ProgramLoad, prog_ifindex)),
        (
            "at(expected_attach_type)",
            offset_of!(ProgramLoad, expected_attach_type),
        ),
        ("at(prog_btf_fd)", size_of::<ProgramLoad>()),
        ("at(test.prog_fd)", offset_of!(ProgramTestRun, prog_fd)),
        ("at(test.retval)", offset_of!(ProgramTestRun, retval)),
        (
            "at(test.data_size_in)",
            offset_of!(ProgramTestRun, data_size_in),
        ),
        (
            "at(test.data_size_out)",
            offset_of!(ProgramTestRun, data_size_out),
        ),
        ("at(test.data_in)", offset_of!(ProgramTestRun, data_in)),
        ("at(test.data_out)", offset_of!(ProgramTestRun, data_out)),
        ("at(test.repeat)", offset_of!(ProgramTestRun, repeat)),
        ("at(test.duration)", offset_of!(ProgramTestRun, duration)),
        (
            "at(test.ctx_size_in)",
            offset_of!(ProgramTestRun, ctx_size_in),
        ),
        (
            "at(test.ctx_size_out)",
            offset_of!(ProgramTestRun, ctx_size_out),
        ),
        ("at(test.ctx_in)", offset_of!(ProgramTestRun, ctx_in)),
        ("at(test.ctx_out)", offset_of!(ProgramTestRun, ctx_out)),
        ("at(test.flags)", offset_of!(ProgramTestRun, flags)),
        ("at(test.cpu)", offset_of!(ProgramTestRun, cpu)),
        (
            "at(test.batch_size)",
            offset_of!(ProgramTestRun, batch_size),
        ),
        (
            "sizeof(((union bpf_attr *)0)->test)",
            size_of::<ProgramTestRun>(),
        ),
        ("at(info.bpf_fd)", offset_of!(ObjectInfo, bpf_fd)),
        ("at(info.info_len)", offset_of!(ObjectInfo, info_len)),
        ("at(info.info)", offset_of!(ObjectInfo, info)),
        (
            "sizeof(((union bpf_attr *)0)->info)",
            size_of::<ObjectInfo>(),
        ),
        ("at(link_create.prog_fd)", offset_of!(LinkCreate, prog_fd)),
        (
            "at(link_create.target_ifindex)",
            offset_of!(LinkCreate, target_ifindex),
        ),
        (
            "at(link_create.attach_type)",
            offset_of!(LinkCreate, attach_type),
        ),
        ("at(link_create.flags)", offset_of!(LinkCreate, flags)),
        ("at(link_update.link_fd)", offset_of!(LinkUpdate, link_fd)),
        (
            "at(link_update.new_prog_fd)",
            offset_of!(LinkUpdate, new_prog_fd),
        ),
        ("at(link_update.flags)", offset_of!(LinkUpdate, flags)),
        ("sizeof(struct bpf_insn)", size_of::<Instruction>()),
        ("sizeof(struct sock_filter)", size_of::<SockFilter>()),
        (
            "offsetof(struct sock_filter, jt)",
            offset_of!(SockFilter, jt),
        ),
        (
            "offsetof(struct sock_filter, jf)",
            offset_of!(SockFilter, jf),
        ),
        ("offsetof(struct sock_filter, k)", offset_of!(SockFilter, k)),
    ];
    assert_as_in_c(HEADERS, &pairs);
}

#[test]
fn a_query_lies_as_in_the_kernels_header() {
    let pairs = [
        (
            "at(query.target_fd)",
            offset_of!(ProgramQuery, target_ifindex),
        ),
        (
            "at(query.attach_type)",
            offset_of!(ProgramQuery, attach_type),
        ),
        (
            "at(query.query_flags)",
            offset_of!(ProgramQuery, query_flags),
        ),
        (
            "at(query.attach_flags)",
            offset_of!(ProgramQuery, attach_flags),
        ),
        ("at(query.prog_ids)", offset_of!(ProgramQuery, program_ids)),
        ("at(query.prog_cnt)", offset_of!(ProgramQuery, count)),
    ];
    assert_as_in_c(HEADERS, &pairs);
}

#[test]
fn ring_buffers_are_as_in_the_kernels_headers() {
    let pairs = [
        ("BPF_MAP_TYPE_ARRAY_OF_MAPS", MapType::ArrayOfMaps as usize),
        ("BPF_MAP_TYPE_RINGBUF", MapType::RingBuffer as usize),
        ("BPF_RINGBUF_HDR_SZ", HEADER_BYTES as usize),
        ("BPF_RINGBUF_BUSY_BIT", BUSY as usize),
    ];
    assert_as_in_c(HEADERS, &pairs);
}

#[test]
fn batches_of_map_entries_lie_as_in_the_kernels_headers() {
    let pairs = [
        ("at(batch.in_batch)", offset_of!(MapBatch, in_batch)),
        ("at(batch.out_batch)", offset_of!(MapBatch, out_batch)),
        ("at(batch.keys)", offset_of!(MapBatch, keys)),
        ("at(batch.values)", offset_of!(MapBatch, values)),
        ("at(batch.count)", offset_of!(MapBatch, count)),
        ("at(batch.map_fd)", offset_of!(MapBatch, map_fd)),
        ("at(batch.elem_flags)", offset_of!(MapBatch, elem_flags)),
        ("at(batch.flags)", offset_of!(MapBatch, flags)),
        (
            "sizeof(((union bpf_attr *)0)->batch)",
            size_of::<MapBatch>(),
        ),
    ];
    assert_as_in_c(HEADERS, &pairs);
}

#[test]
fn tracepoints_are_named_as_in_the_kernels_headers() {
    // The pad at the end of ours is not part of the C struct of headers without the cookie.
    let pairs = [
        ("at(raw_tracepoint.name)", offset_of!(RawTracepoint, name)),
        (
            "at(raw_tracepoint.prog_fd)",
            offset_of!(RawTracepoint, prog_fd),
        ),
    ];
    assert_as_in_c(HEADERS, &pairs);
}

#[test]
fn what_objects_tell_lies_as_in_the_kernels_headers() {
    let pairs = [
        ("at(prog_id)", offset_of!(ObjectId, id)),
        ("at(next_id)", offset_of!(ObjectId, next_id)),
        ("at(open_flags)", offset_of!(ObjectId, open_flags)),
        ("in(prog, id)", offset_of!(ProgramInfo, id)),
        ("in(prog, tag)", offset_of!(ProgramInfo, unused)),
        ("in(prog, name)", offset_of!(ProgramInfo, name)),
        ("in(prog, ifindex)", size_of::<ProgramInfo>()),
        ("in(map, id)", offset_of!(MapInfo, id)),
        ("in(map, key_size)", offset_of!(MapInfo, unused)),
        ("in(map, name)", offset_of!(MapInfo, name)),
        ("in(map, ifindex)", size_of::<MapInfo>()),
    ];
    let headers = format!("{HEADERS}\n#define in(what, f) offsetof(struct bpf_##what##_info, f)");
    assert_as_in_c(&headers, &pairs);
}
