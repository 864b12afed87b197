//! Attaches a tc program with a filter of the clsact queueing discipline, for kernels without tcx.
//!
//! A killed process leaves its filter behind. The filter's name therefore tells whether its owner is alive: it is
//! `tapline-tc/TOKEN`, and the owner binds the abstract Unix socket address of that name in the interface's namespace. The
//! kernel frees the address when the process ends in any way. The next process that attaches removes filters whose address
//! is free.
//!
//! A name that ends in `+q` means that tapline also created the queueing discipline. The last such filter removes it.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU64, Ordering};

use super::hook::TcHook;
use crate::rtnetlink::{
    NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, Request, Rtnetlink, find, number, text,
};

// include/uapi/linux/rtnetlink.h, pkt_sched.h, pkt_cls.h
const RTM_NEWQDISC: u16 = libc::RTM_NEWQDISC;
const RTM_DELQDISC: u16 = libc::RTM_DELQDISC;
const RTM_GETQDISC: u16 = libc::RTM_GETQDISC;
const RTM_NEWTFILTER: u16 = libc::RTM_NEWTFILTER;
const RTM_DELTFILTER: u16 = libc::RTM_DELTFILTER;
const RTM_GETTFILTER: u16 = libc::RTM_GETTFILTER;
pub(super) const TCA_KIND: u16 = libc::TCA_KIND;
pub(super) const TCA_OPTIONS: u16 = libc::TCA_OPTIONS;
const TCA_BPF_FD: u16 = 6;
pub(super) const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const ETH_P_ALL: u16 = libc::ETH_P_ALL as u16;
pub(super) const HEADER_BYTES: usize = 20;

const NAME: &str = "tapline-tc/";
const OWNS_QDISC: &str = "+q";
/// Attempts to attach while other processes detach at the same time.
const ATTEMPTS: u32 = 3;

/// A clsact filter of this process. Dropping it removes the filter.
#[derive(Debug)]
pub(super) struct Clsact {
    netlink: Rtnetlink,
    filter: Filter,
    /// Its address shows that the owner is alive.
    _life: UnixDatagram,
}

/// `struct tcmsg` and the filter's name.
#[derive(Clone, Debug)]
struct Filter {
    ifindex: u32,
    handle: u32,
    parent: u32,
    info: u32,
    name: String,
}

impl Clsact {
    /// Attaches `program` after existing filters. Removes filters of dead owners first.
    pub(super) fn attach(program: BorrowedFd<'_>, ifindex: u32, place: TcHook) -> io::Result<Self> {
        let mut netlink = Rtnetlink::open()?;
        let (token, life) = new_token()?;
        let mut owns_qdisc = remove_leftovers(&mut netlink, ifindex)?;
        let mut more = 1..ATTEMPTS;
        loop {
            if place == TcHook::Egress && is_ingress_only(&mut netlink, ifindex)? {
                return Err(io::Error::from_raw_os_error(libc::EEXIST));
            }
            owns_qdisc |= create_qdisc(&mut netlink, ifindex)? || is_ours(&mut netlink, ifindex)?;
            let suffix = if owns_qdisc { OWNS_QDISC } else { "" };
            let name = format!("{NAME}{token}{suffix}");
            match add_filter(&mut netlink, program, ifindex, place, &name) {
                Ok(filter) => {
                    return Ok(Self {
                        netlink,
                        filter,
                        _life: life,
                    });
                }
                // Another process may have removed the discipline with its last filter (`__tcf_qdisc_find`,
                // net/sched/cls_api.c).
                Err(error)
                    if error.raw_os_error() == Some(libc::EINVAL) && more.next().is_some() => {}
                Err(error) => {
                    if owns_qdisc {
                        remove_empty_qdisc(&mut netlink, ifindex)?;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Replaces the attached program by `program` (`cls_bpf_change`, net/sched/cls_bpf.c).
    pub(super) fn replace(&mut self, program: BorrowedFd<'_>) -> io::Result<()> {
        let Filter {
            ifindex,
            handle,
            parent,
            info,
            ref name,
        } = self.filter;
        let header = header(ifindex, handle, parent, info);
        self.netlink
            .exchange(filter_request(0, &header, program, name))
            .map(drop)
    }
}

impl Drop for Clsact {
    fn drop(&mut self) {
        // A removed interface takes its filters along. Other errors cannot be reported here.
        let _ = remove(&mut self.netlink, &self.filter);
        if self.filter.name.ends_with(OWNS_QDISC) {
            let _ = remove_empty_qdisc(&mut self.netlink, self.filter.ifindex);
        }
    }
}

/// A unique token, and the socket that holds its address.
fn new_token() -> io::Result<(String, UnixDatagram)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (process, time) = (std::process::id(), abi::clock::realtime_ns());
    let token = format!("{process:x}.{time:x}.{number:x}");
    let life = UnixDatagram::bind_addr(&address(&token)?)?;
    // Otherwise somebody who takes over this process could send to other programs from it.
    life.shutdown(Shutdown::Both)?;
    Ok((token, life))
}

fn address(token: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{NAME}{token}"))
}

/// The token in a filter's name. `None` if tapline did not create the filter.
fn token(name: &str) -> Option<&str> {
    let token = name.strip_prefix(NAME)?;
    Some(token.strip_suffix(OWNS_QDISC).unwrap_or(token))
}

/// Whether the owner of the filter is alive: its address is in use.
fn is_alive(token: &str) -> bool {
    let free = address(token).and_then(|address| UnixDatagram::bind_addr(&address));
    free.is_err()
}

/// Removes the filters of dead owners. Returns whether one of them created the discipline.
fn remove_leftovers(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    let mut owned_qdisc = false;
    for filter in filters(netlink, ifindex)? {
        if token(&filter.name).is_some_and(|token| !is_alive(token)) {
            owned_qdisc |= filter.name.ends_with(OWNS_QDISC);
            match remove(netlink, &filter) {
                Err(error) if error.raw_os_error() != Some(libc::ENOENT) => return Err(error),
                _ => {}
            }
        }
    }
    Ok(owned_qdisc)
}

/// As [`remove_leftovers`], and removes the discipline if a dead owner created it.
pub(super) fn remove_all_leftovers(ifindex: u32) -> io::Result<()> {
    let mut netlink = Rtnetlink::open()?;
    if remove_leftovers(&mut netlink, ifindex)? && !is_ours(&mut netlink, ifindex)? {
        remove_empty_qdisc(&mut netlink, ifindex)?;
    }
    Ok(())
}

fn is_ours(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    let marks =
        |filter: &Filter| filter.name.starts_with(NAME) && filter.name.ends_with(OWNS_QDISC);
    Ok(filters(netlink, ifindex)?.iter().any(marks))
}

/// Creates the discipline. Returns whether it did not exist before.
fn create_qdisc(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    let header = header(ifindex, CLSACT_HANDLE, TC_H_CLSACT, 0);
    let request = Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &header)
        .attribute(TCA_KIND, b"clsact\0");
    match netlink.exchange(request) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the `ingress` discipline takes the place of clsact. It accepts egress filters, too, but runs them on ingress.
pub(super) fn is_ingress_only(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    // The answer is a notification, so it must be requested.
    let header = header(ifindex, 0, TC_H_CLSACT, 0);
    let request = Request::new(RTM_GETQDISC, NLM_F_ECHO, &header);
    let answer = match netlink.exchange(request) {
        Ok(answer) => answer,
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(false),
        Err(error) => return Err(error),
    };
    let kind = |message: &Vec<u8>| find(message.get(HEADER_BYTES..)?, TCA_KIND).map(text);
    Ok(answer.iter().filter_map(kind).any(|kind| kind == "ingress"))
}

fn remove_empty_qdisc(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<()> {
    for parent in [TcHook::Ingress.parent(), TcHook::Egress.parent()] {
        if !dump(netlink, ifindex, parent)?.is_empty() {
            return Ok(());
        }
    }
    let header = header(ifindex, CLSACT_HANDLE, TC_H_CLSACT, 0);
    let request = Request::new(RTM_DELQDISC, 0, &header).attribute(TCA_KIND, b"clsact\0");
    netlink.exchange(request).map(drop)
}

fn add_filter(
    netlink: &mut Rtnetlink,
    program: BorrowedFd<'_>,
    ifindex: u32,
    place: TcHook,
    name: &str,
) -> io::Result<Filter> {
    // The kernel chooses the handle and echoes it.
    let info = last_priority(netlink, ifindex, place)? << 16 | u32::from(ETH_P_ALL.to_be());
    let header = header(ifindex, 0, place.parent(), info);
    let flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_ECHO;
    let answer = netlink.exchange(filter_request(flags, &header, program, name))?;
    let mut echoed = answer.iter().filter_map(|message| Filter::parse(message));
    echoed
        .find(|filter| filter.name == name)
        .ok_or(io::ErrorKind::InvalidData.into())
}

fn filter_request(
    flags: u16,
    header: &[u8; HEADER_BYTES],
    program: BorrowedFd<'_>,
    name: &str,
) -> Request {
    Request::new(RTM_NEWTFILTER, flags, header)
        .attribute(TCA_KIND, b"bpf\0")
        .nested(TCA_OPTIONS, |options| {
            options
                .attribute(TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes())
                .attribute(TCA_BPF_NAME, format!("{name}\0").as_bytes())
                .attribute(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes())
        })
}

/// A priority after those of existing filters; 0 lets the kernel choose.
fn last_priority(netlink: &mut Rtnetlink, ifindex: u32, place: TcHook) -> io::Result<u32> {
    let messages = dump(netlink, ifindex, place.parent())?;
    let priority = |message: &Vec<u8>| Some(number(message.get(16..)?)? >> 16);
    let last = messages.iter().filter_map(priority).max();
    Ok(last.map_or(0, |last| (last + 1) & 0xffff))
}

fn remove(netlink: &mut Rtnetlink, filter: &Filter) -> io::Result<()> {
    let header = header(filter.ifindex, filter.handle, filter.parent, filter.info);
    let request = Request::new(RTM_DELTFILTER, 0, &header).attribute(TCA_KIND, b"bpf\0");
    netlink.exchange(request).map(drop)
}

/// The bpf filters of both hooks.
fn filters(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<Vec<Filter>> {
    let mut filters = Vec::new();
    for place in [TcHook::Ingress, TcHook::Egress] {
        let messages = dump(netlink, ifindex, place.parent())?;
        filters.extend(messages.iter().filter_map(|message| Filter::parse(message)));
    }
    Ok(filters)
}

/// All filters of a hook, of any kind. Empty without the discipline.
pub(super) fn dump(netlink: &mut Rtnetlink, ifindex: u32, parent: u32) -> io::Result<Vec<Vec<u8>>> {
    let request = Request::new(RTM_GETTFILTER, NLM_F_DUMP, &header(ifindex, 0, parent, 0));
    netlink.exchange(request)
}

impl Filter {
    /// Parses a message about a filter of kind `bpf`; `None` for other messages.
    fn parse(message: &[u8]) -> Option<Self> {
        let (header, attributes) = message.split_at_checked(HEADER_BYTES)?;
        let word = |at: usize| header.get(at..).and_then(number);
        let is_bpf = text(find(attributes, TCA_KIND)?) == "bpf";
        let name = find(find(attributes, TCA_OPTIONS)?, TCA_BPF_NAME)?;
        is_bpf.then_some(())?;
        Some(Self {
            ifindex: word(4)?,
            handle: word(8)?,
            parent: word(12)?,
            info: word(16)?,
            name: text(name),
        })
    }
}

/// `struct tcmsg`. `info` holds the priority in its upper half and the protocol in network byte order.
fn header(ifindex: u32, handle: u32, parent: u32, info: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    for (word, value) in header[4..]
        .chunks_exact_mut(4)
        .zip([ifindex, handle, parent, info])
    {
        word.copy_from_slice(&value.to_ne_bytes());
    }
    header
}
