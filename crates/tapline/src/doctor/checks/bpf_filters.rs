//! How long a socket's filter may be.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use abi::bpf::{SockFilter, attach_classic};
use rustix::io::Errno;

use super::super::change::Change;
use super::super::place::{Roots, is_of_namespace};
use super::super::report::{Finding, Report, Severity};

const ID: &str = "filter-memory";
const SETTING: &str = "net.core.optmem_max";
/// What Linux 6.6 and later begin with.
const USUAL: &str = "131072";
/// The most that the kernel takes (`BPF_MAXINSNS`).
const LONGEST: usize = 4096;

pub(super) fn check(roots: &Roots, report: &mut Report) {
    let longest = match longest() {
        Ok(longest) => longest,
        Err(error) => return report.failed(ID, &error),
    };
    if longest == LONGEST {
        return report.can(
            ID,
            format!("filters of {LONGEST} instructions, the most there is"),
        );
    }
    let limit = roots.sysctl(SETTING).ok().flatten();
    let limit = limit.map_or_else(String::new, |limit| format!(" ({SETTING} is {limit})"));
    let finding = Finding::new(
        ID,
        Severity::Warning,
        format!("a socket takes filters of {longest} instructions, not of {LONGEST}{limit}"),
        "of longer filters the kernel runs a coarse part: more packets are copied to the reader, who \
            decides",
    );
    let change = Change::Sysctl {
        name: SETTING.into(),
        value: USUAL.into(),
    };
    report.found(if is_of_namespace(SETTING) == Some(true) {
        finding.fix(change)
    } else {
        finding.remedy(change.command())
    });
}

/// Instructions of the longest filter that a socket of its own takes.
///
/// # Source
/// `sk_filter_charge`, net/core/filter.c.
fn longest() -> io::Result<usize> {
    let is_taken = |length: usize| {
        // A new one each time: while a filter is exchanged the socket pays for both.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // Loads, and a return that keeps nothing: BPF_LD|BPF_IMM and BPF_RET|BPF_K.
        let mut program = vec![plain(0); length - 1];
        program.push(plain(6));
        match attach_classic(socket.as_fd(), &program) {
            Ok(()) => Ok(true),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOMEM) => Ok(false),
            Err(error) => Err(error),
        }
    };
    if is_taken(LONGEST)? {
        return Ok(LONGEST);
    }
    let (mut taken, mut refused) = (0, LONGEST);
    while refused - taken > 1 {
        let middle = usize::midpoint(taken, refused);
        if is_taken(middle)? {
            taken = middle;
        } else {
            refused = middle;
        }
    }
    Ok(taken)
}

fn plain(code: u16) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k: 0,
    }
}
