//! The structs of bpf(2) against `linux/bpf.h` and `linux/filter.h`, as a C compiler lays them out.

use std::mem::offset_of;

use crate::c_layout::{assert_as_in_c, assert_fields, assert_struct};
use abi::bpf::{
    Instruction, LinkCreate, LinkUpdate, MapBatch, MapCreate, MapElement, MapInfo, MapType,
    ObjectId, ObjectInfo, ProgramInfo, ProgramLoad, ProgramQuery, ProgramTestRun, RawTracepoint,
    SockFilter, TypesLoad,
};
use abi::ring_buffer::{BUSY, HEADER_BYTES};
use tapline_abi as abi;

const HEADERS: &str = "#include <linux/bpf.h>\n#include <linux/filter.h>\n\
                       #define at(f) offsetof(union bpf_attr, f)";

#[test]
fn structs_lie_as_in_the_kernels_headers() {
    assert_fields!(HEADERS, MapCreate as "union bpf_attr" {
        map_type: "map_type",
        key_size: "key_size",
        value_size: "value_size",
        max_entries: "max_entries",
        map_flags: "map_flags",
        inner_map_fd: "inner_map_fd",
        numa_node: "numa_node",
        map_name: "map_name",
        map_ifindex: "map_ifindex",
        btf_fd: "btf_fd",
        btf_key_type_id: "btf_key_type_id",
        btf_value_type_id: "btf_value_type_id",
    });
    // The last field is missing in headers before Linux 6.4.
    assert_fields!(HEADERS, TypesLoad as "union bpf_attr" {
        btf: "btf",
        btf_log_buf: "btf_log_buf",
        btf_size: "btf_size",
        btf_log_size: "btf_log_size",
        btf_log_level: "btf_log_level",
    });
    assert_fields!(HEADERS, MapElement as "union bpf_attr" {
        map_fd: "map_fd",
        key: "key",
        value: "value",
        flags: "flags",
    });
    assert_fields!(HEADERS, ProgramLoad as "union bpf_attr" {
        prog_type: "prog_type",
        insn_cnt: "insn_cnt",
        insns: "insns",
        license: "license",
        log_level: "log_level",
        log_size: "log_size",
        log_buf: "log_buf",
        kern_version: "kern_version",
        prog_flags: "prog_flags",
        prog_name: "prog_name",
        prog_ifindex: "prog_ifindex",
        expected_attach_type: "expected_attach_type",
    });
    assert_fields!(HEADERS, ProgramTestRun as "union bpf_attr" {
        prog_fd: "test.prog_fd",
        retval: "test.retval",
        data_size_in: "test.data_size_in",
        data_size_out: "test.data_size_out",
        data_in: "test.data_in",
        data_out: "test.data_out",
        repeat: "test.repeat",
        duration: "test.duration",
        ctx_size_in: "test.ctx_size_in",
        ctx_size_out: "test.ctx_size_out",
        ctx_in: "test.ctx_in",
        ctx_out: "test.ctx_out",
        flags: "test.flags",
        cpu: "test.cpu",
        batch_size: "test.batch_size",
    });
    assert_fields!(HEADERS, ObjectInfo as "union bpf_attr" {
        bpf_fd: "info.bpf_fd",
        info_len: "info.info_len",
        info: "info.info",
    });
}

#[test]
fn links_batches_and_instructions_lie_as_in_the_kernels_headers() {
    assert_fields!(HEADERS, LinkCreate as "union bpf_attr" {
        prog_fd: "link_create.prog_fd",
        target_ifindex: "link_create.target_ifindex",
        attach_type: "link_create.attach_type",
        flags: "link_create.flags",
    });
    assert_fields!(HEADERS, LinkUpdate as "union bpf_attr" {
        link_fd: "link_update.link_fd",
        new_prog_fd: "link_update.new_prog_fd",
        flags: "link_update.flags",
    });
    assert_fields!(HEADERS, ProgramQuery as "union bpf_attr" {
        target_ifindex: "query.target_fd",
        attach_type: "query.attach_type",
        query_flags: "query.query_flags",
        attach_flags: "query.attach_flags",
        program_ids: "query.prog_ids",
        count: "query.prog_cnt",
    });
    assert_fields!(HEADERS, MapBatch as "union bpf_attr" {
        in_batch: "batch.in_batch",
        out_batch: "batch.out_batch",
        keys: "batch.keys",
        values: "batch.values",
        count: "batch.count",
        map_fd: "batch.map_fd",
        elem_flags: "batch.elem_flags",
        flags: "batch.flags",
    });
    // The pad at the end of ours is not part of the C struct of headers without the cookie.
    assert_fields!(HEADERS, RawTracepoint as "union bpf_attr" {
        name: "raw_tracepoint.name",
        prog_fd: "raw_tracepoint.prog_fd",
    });
    assert_struct!(HEADERS, Instruction as "struct bpf_insn" {});
    assert_struct!(HEADERS, SockFilter as "struct sock_filter" {
        jt: "jt",
        jf: "jf",
        k: "k",
    });
    let sizes = [
        ("at(btf_vmlinux_value_type_id)", size_of::<MapCreate>()),
        ("at(prog_btf_fd)", size_of::<ProgramLoad>()),
        (
            "sizeof(((union bpf_attr *)0)->test)",
            size_of::<ProgramTestRun>(),
        ),
        (
            "sizeof(((union bpf_attr *)0)->info)",
            size_of::<ObjectInfo>(),
        ),
        (
            "sizeof(((union bpf_attr *)0)->batch)",
            size_of::<MapBatch>(),
        ),
    ];
    assert_as_in_c(HEADERS, &sizes);
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
