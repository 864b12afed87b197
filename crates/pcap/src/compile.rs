//! Filters: `pcap_compile`, `pcap_setfilter`, and the functions of `bpf_…` that run and show programs.

use std::ffi::{c_char, c_int, c_uchar, c_uint};
use std::net::Ipv4Addr;
use std::{ptr, slice};

use tapline::filter::classic::{
    ClassicProgram, Instruction, MAX_USER_INSTRUCTIONS, opcode, run_unchecked,
};
use tapline::filter::{
    CompiledFilter, FilterError, FilterOptions, FilterTarget, LinkType, LoopbackFamilies,
    SystemNames,
};

use crate::datalinks;
use crate::ffi::abi::{ERROR, NETMASK_UNKNOWN, bpf_insn, bpf_program, pcap_pkthdr};
use crate::ffi::guard::{guard, guard_with};
use crate::ffi::text::text;
use crate::handle::{Source, State, pcap_t, reporting, state};

/// Compiles a filter in the language of pcap-filter(7) for the packets of a handle. `netmask`, in network byte order, is
/// what `ip broadcast` uses. The compiler always optimizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_compile(
    handle: *mut pcap_t,
    program: *mut bpf_program,
    filter: *const c_char,
    _optimize: c_int,
    netmask: c_uint,
) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        if state.is_created() {
            return state.fail(ERROR, "not-yet-activated pcap_t passed to pcap_compile");
        }
        if state.snaplen == 0 {
            return state.fail(ERROR, "snaplen of 0 rejects all packets");
        }
        // SAFETY: a string of C; null is an empty filter.
        let filter = unsafe { text(filter) }.unwrap_or_default();
        let compiled = match filter.to_str() {
            Ok(filter) => compile(filter, state, netmask),
            Err(_) => Err("the filter is not text".to_owned()),
        };
        match compiled {
            // SAFETY: the caller's place for a program.
            Ok(compiled) if unsafe { copy_out(&compiled, program) } => 0,
            Ok(_) => state.fail(ERROR, "out of memory"),
            Err(message) => state.fail(ERROR, &message),
        }
    })
}

fn compile(text: &str, state: &State, netmask: u32) -> Result<ClassicProgram, String> {
    let snaplen = state.snaplen.cast_unsigned();
    if text.trim().is_empty() {
        return Ok(ClassicProgram::keep(snaplen));
    }
    let link = LinkType::from_number(datalinks::link_type(state.datalink));
    let mut options = FilterOptions::new(link);
    options.snaplen = snaplen;
    options.netmask = (netmask != NETMASK_UNKNOWN).then(|| Ipv4Addr::from(u32::from_be(netmask)));
    if state.is_live() {
        options.target = FilterTarget::Socket;
    }
    if !matches!(state.source, Source::Offline(_)) {
        // Packets of this machine. Files come from any.
        options.families = LoopbackFamilies::One {
            ip4: libc::AF_INET.unsigned_abs(),
            ip6: libc::AF_INET6.unsigned_abs(),
            is_big_endian: cfg!(target_endian = "big"),
        };
    }
    let describe = |error: FilterError| error.to_string();
    let new = |options: &FilterOptions| CompiledFilter::new(text, options, &SystemNames::new());
    let mut filter = new(&options);
    if filter.is_err() && matches!(state.source, Source::Dead) {
        // Words such as `inbound` are for captures, and such a handle may compile for one.
        options.target = FilterTarget::Socket;
        filter = new(&options).or(filter);
    }
    let filter = filter.map_err(describe)?;
    filter.classic_for_user_space().map_err(describe)
}

/// Copies a program into memory that `pcap_freecode` frees; `false` if there is none.
///
/// # Safety
/// `program` is null or a place for a program.
unsafe fn copy_out(compiled: &ClassicProgram, program: *mut bpf_program) -> bool {
    let instructions = compiled.instructions();
    // SAFETY: no pointers are passed.
    let memory: *mut bpf_insn = unsafe { libc::malloc(size_of_val(instructions)) }.cast();
    if memory.is_null() || program.is_null() {
        // SAFETY: from malloc, or null.
        unsafe { libc::free(memory.cast()) };
        return false;
    }
    for (at, instruction) in instructions.iter().enumerate() {
        // SAFETY: inside the memory, which has room for all instructions.
        let place = unsafe { memory.add(at) };
        let Instruction { code, jt, jf, k } = *instruction;
        // SAFETY: as above; malloc aligns for any type.
        unsafe { place.write(bpf_insn { code, jt, jf, k }) };
    }
    let given = bpf_program {
        bf_len: instructions.len() as c_uint,
        bf_insns: memory,
    };
    // SAFETY: promised by the caller.
    unsafe { program.write(given) };
    true
}

/// `pcap_compile` without a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_compile_nopcap(
    snaplen: c_int,
    datalink: c_int,
    program: *mut bpf_program,
    filter: *const c_char,
    optimize: c_int,
    netmask: c_uint,
) -> c_int {
    guard(ERROR, || {
        let handle = crate::live::activate::pcap_open_dead(datalink, snaplen);
        // SAFETY: a handle of our own, and what the caller passed.
        let status = unsafe { pcap_compile(handle, program, filter, optimize, netmask) };
        // SAFETY: opened above, and nobody else has it.
        unsafe { pcap_t::close(handle) };
        status
    })
}

/// Frees what `pcap_compile` allocated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_freecode(program: *mut bpf_program) {
    // SAFETY: the caller's program, or null.
    if let Some(program) = unsafe { program.as_mut() } {
        // SAFETY: from malloc, or null.
        unsafe { libc::free(program.bf_insns.cast()) };
        (program.bf_len, program.bf_insns) = (0, ptr::null_mut());
    }
}

/// The instructions of a program; `None` if there are none.
///
/// # Safety
/// `program` is null or a program whose memory lives for `'a`.
unsafe fn instructions<'a>(program: *const bpf_program) -> Option<&'a [Instruction]> {
    // SAFETY: promised by the caller.
    let program = unsafe { program.as_ref() }?;
    let count = program.bf_len as usize;
    if program.bf_insns.is_null() || count == 0 || count > MAX_USER_INSTRUCTIONS {
        return None;
    }
    // Both have the layout of the kernel's `struct sock_filter`.
    const { assert!(size_of::<Instruction>() == size_of::<bpf_insn>()) };
    // SAFETY: promised by the caller.
    Some(unsafe { slice::from_raw_parts(program.bf_insns.cast(), count) })
}

fn instruction(given: bpf_insn) -> Instruction {
    let bpf_insn { code, jt, jf, k } = given;
    Instruction { code, jt, jf, k }
}

/// # Safety
/// As [`instructions`].
unsafe fn checked(program: *const bpf_program) -> Option<ClassicProgram> {
    // SAFETY: promised by the caller.
    let instructions = unsafe { instructions(program) }?;
    ClassicProgram::for_user_space(instructions.to_vec()).ok()
}

/// Sets the filter of a handle. Packets that are in the ring have to pass it, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_setfilter(handle: *mut pcap_t, program: *mut bpf_program) -> c_int {
    // SAFETY: a handle of the caller.
    let failed = unsafe { reporting(handle, ERROR) };
    guard_with(failed, || {
        // SAFETY: a handle of the caller.
        let Some(state) = (unsafe { state(handle) }) else {
            return ERROR;
        };
        match state.source {
            Source::Created(_) => return state.not_activated(),
            Source::Dead => {
                return state.fail(ERROR, "A filter cannot be set on a pcap_open_dead pcap_t");
            }
            Source::Live(_) | Source::Any(_) | Source::Offline(_) => {}
        }
        if program.is_null() {
            return state.fail(ERROR, "setfilter: No filter specified");
        }
        // SAFETY: a program of the caller.
        let Some(program) = (unsafe { checked(program) }) else {
            return state.fail(ERROR, "BPF program is not valid");
        };
        match &mut state.source {
            Source::Live(live) => {
                if let Err(message) = live.set_filter(&program) {
                    return state.fail(ERROR, &message);
                }
            }
            Source::Any(any) => {
                any.set_filter(&program);
                state.filter = Some(program);
            }
            Source::Created(_) | Source::Dead | Source::Offline(_) => state.filter = Some(program),
        }
        0
    })
}

/// Runs a program on a packet: bytes to keep, 0 to reject.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_offline_filter(
    program: *const bpf_program,
    header: *const pcap_pkthdr,
    packet: *const c_uchar,
) -> c_int {
    guard(0, || {
        // SAFETY: a program of the caller.
        let program = unsafe { instructions(program) };
        // SAFETY: a header of the caller.
        let header = unsafe { header.as_ref() };
        let (Some(program), Some(header)) = (program, header) else {
            return 0;
        };
        // SAFETY: as many bytes as the header says.
        let Some(bytes) = (unsafe { array(packet, header.caplen) }) else {
            return 0;
        };
        run_unchecked(program, bytes, header.len).cast_signed()
    })
}

/// # Safety
/// `bytes` is null or points to `count` bytes that live for `'a`.
unsafe fn array<'a>(bytes: *const u8, count: u32) -> Option<&'a [u8]> {
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: promised by the caller.
    (!bytes.is_null()).then(|| unsafe { slice::from_raw_parts(bytes, count as usize) })
}

/// Runs a program, whose end nobody says, on a packet. Null accepts every packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bpf_filter(
    program: *const bpf_insn,
    packet: *const c_uchar,
    len: c_uint,
    captured: c_uint,
) -> c_uint {
    guard(0, || {
        if program.is_null() {
            return c_uint::MAX;
        }
        // SAFETY: a program of the caller.
        let program = unsafe { to_its_end(program) };
        // SAFETY: as many bytes as the caller says.
        let bytes = unsafe { array(packet, captured) };
        bytes.map_or(0, |bytes| run_unchecked(&program, bytes, len))
    })
}

/// The instructions up to the last that can be reached: jumps lead forward only.
///
/// # Safety
/// Every way through `program` ends with a return.
unsafe fn to_its_end(program: *const bpf_insn) -> Vec<Instruction> {
    const RETURN: u16 = opcode::RET_K & 7;
    let mut found = Vec::new();
    let mut last = 0;
    while found.len() <= last && found.len() < MAX_USER_INSTRUCTIONS {
        // SAFETY: promised by the caller: a way leads here.
        let place = unsafe { program.add(found.len()) };
        // SAFETY: as above.
        let next = instruction(unsafe { place.read() });
        let after = found.len() + 1;
        let reached = if opcode::is_conditional_jump(next.code) {
            after + usize::from(next.jt.max(next.jf))
        } else if next.code == opcode::JA {
            after.saturating_add(next.k as usize)
        } else if next.code & 7 == RETURN {
            after - 1
        } else {
            after
        };
        last = last.max(reached);
        found.push(next);
    }
    found
}

/// 1 if the kernel's rules hold for a program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bpf_validate(program: *const bpf_insn, count: c_int) -> c_int {
    guard(0, || {
        let given = bpf_program {
            bf_len: count.max(0).unsigned_abs(),
            bf_insns: program.cast_mut(),
        };
        // SAFETY: a program of the caller.
        c_int::from(unsafe { checked(&raw const given) }.is_some())
    })
}

/// Prints a program: 1 as text, 2 as an array of C, 3 in decimal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bpf_dump(program: *const bpf_program, form: c_int) {
    guard((), || {
        // SAFETY: a program of the caller.
        let Some(program) = (unsafe { checked(program) }) else {
            return;
        };
        let text = match form {
            3.. => program.to_string(),
            2 => {
                let row = |i: &Instruction| {
                    format!("{{ 0x{:x}, {}, {}, 0x{:08x} }},\n", i.code, i.jt, i.jf, i.k)
                };
                program.instructions().iter().map(row).collect()
            }
            _ => program.listing().to_string(),
        };
        let bytes = text.as_ptr().cast();
        // The program prints with this stream, too, so the order stays.
        // SAFETY: as many bytes as the text has, to the stream of standard output.
        unsafe { libc::fwrite(bytes, 1, text.len(), crate::ffi::stream::standard_output()) };
    });
}

/// One instruction as text. Valid until the next call of the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bpf_image(given: *const bpf_insn, number: c_int) -> *mut c_char {
    thread_local! {
        static IMAGE: std::cell::RefCell<std::ffi::CString> = std::cell::RefCell::default();
    }
    guard(ptr::null_mut(), || {
        // SAFETY: an instruction of the caller.
        let Some(&given) = (unsafe { given.as_ref() }) else {
            return ptr::null_mut();
        };
        let number = number.max(0).unsigned_abs() as usize;
        let image = instruction(given).listed(number).to_string();
        IMAGE.with_borrow_mut(|kept| {
            *kept = std::ffi::CString::new(image).unwrap_or_default();
            kept.as_ptr().cast_mut()
        })
    })
}
