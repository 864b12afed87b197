//! Attaching by a filter of the clsact queueing discipline, for kernels without tcx.
//!
//! Such a filter stays when its process is killed. So it carries a name that tells whether its owner
//! lives: `tapline-tc/TOKEN`, where the owner holds the abstract Unix socket address of that name, in
//! the namespace of the interface. The kernel takes the address back when the process ends, however
//! it does. Whoever attaches next removes filters whose address is free.
//!
//! A name that ends in `+q` says that the discipline itself is ours, too: the last such filter takes it
//! along when it goes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU64, Ordering};

use super::TcPlace;
use crate::rtnetlink::{
    NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, Request, Rtnetlink, find, number, text,
};

// include/uapi/linux/rtnetlink.h, pkt_sched.h, pkt_cls.h
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
const RTM_GETTFILTER: u16 = 46;
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
pub(super) const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const ETH_P_ALL: u16 = 3;
pub(super) const HEADER_BYTES: usize = 20;

const NAME: &str = "tapline-tc/";
const OWNS_QDISC: &str = "+q";
/// How often attaching is tried that another process' detaching thwarts.
const ATTEMPTS: u32 = 3;
const ENOENT: i32 = 2;
const EEXIST: i32 = 17;
const EINVAL: i32 = 22;

/// A filter of clsact that this process put there, and takes away when it is dropped.
#[derive(Debug)]
pub(super) struct Clsact {
    netlink: Rtnetlink,
    filter: Filter,
    /// Its address says that the filter's owner lives.
    _life: UnixDatagram,
}

/// `struct tcmsg`, and a filter's name.
#[derive(Clone, Debug)]
struct Filter {
    ifindex: u32,
    handle: u32,
    parent: u32,
    info: u32,
    name: String,
}

impl Clsact {
    /// Attaches `program` after the filters that are there; those whose owner is dead are removed.
    pub(super) fn attach(
        program: BorrowedFd<'_>,
        ifindex: u32,
        place: TcPlace,
    ) -> io::Result<Self> {
        let mut netlink = Rtnetlink::open()?;
        let (token, life) = new_token()?;
        let mut owns_qdisc = remove_leftovers(&mut netlink, ifindex)?;
        let mut more = 1..ATTEMPTS;
        loop {
            if place == TcPlace::Egress && is_ingress_only(&mut netlink, ifindex)? {
                return Err(io::Error::from_raw_os_error(EEXIST));
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
                // Perhaps the discipline went with its last filter (`__tcf_qdisc_find`,
                // net/sched/cls_api.c).
                Err(error) if error.raw_os_error() == Some(EINVAL) && more.next().is_some() => {}
                Err(error) => {
                    if owns_qdisc {
                        remove_empty_qdisc(&mut netlink, ifindex)?;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Puts `program` in the place of the attached one (`cls_bpf_change`, net/sched/cls_bpf.c).
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
        // An interface that is gone took its filters along; there is nobody to tell of other errors.
        let _ = remove(&mut self.netlink, &self.filter);
        if self.filter.name.ends_with(OWNS_QDISC) {
            let _ = remove_empty_qdisc(&mut self.netlink, self.filter.ifindex);
        }
    }
}

/// A token that no other filter has, and the socket that holds its address.
fn new_token() -> io::Result<(String, UnixDatagram)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (process, time) = (std::process::id(), abi::clock::realtime_ns());
    let token = format!("{process:x}.{time:x}.{number:x}");
    let life = UnixDatagram::bind_addr(&address(&token)?)?;
    Ok((token, life))
}

fn address(token: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{NAME}{token}"))
}

/// The token in a filter's name; `None` if the filter is not ours.
fn token(name: &str) -> Option<&str> {
    let token = name.strip_prefix(NAME)?;
    Some(token.strip_suffix(OWNS_QDISC).unwrap_or(token))
}

/// Whether the process lives that put a filter there, which is so as long as its address is taken.
fn is_alive(token: &str) -> bool {
    let free = address(token).and_then(|address| UnixDatagram::bind_addr(&address));
    free.is_err()
}

/// Removes the filters that dead processes left; whether the discipline was theirs.
fn remove_leftovers(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    let mut owned_qdisc = false;
    for filter in filters(netlink, ifindex)? {
        if token(&filter.name).is_some_and(|token| !is_alive(token)) {
            owned_qdisc |= filter.name.ends_with(OWNS_QDISC);
            match remove(netlink, &filter) {
                Err(error) if error.raw_os_error() != Some(ENOENT) => return Err(error),
                _ => {}
            }
        }
    }
    Ok(owned_qdisc)
}

/// As [`remove_leftovers`], and the discipline with them if it was theirs.
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

/// Puts the discipline there; whether it was not there before.
fn create_qdisc(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    let header = header(ifindex, CLSACT_HANDLE, TC_H_CLSACT, 0);
    let request = Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &header)
        .attribute(TCA_KIND, b"clsact\0");
    match netlink.exchange(request) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(EEXIST) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the discipline `ingress` is in clsact's place: it takes filters for the other direction
/// too, and runs them on what comes in.
pub(super) fn is_ingress_only(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<bool> {
    // The answer is a notification, so it has to be asked for.
    let header = header(ifindex, 0, TC_H_CLSACT, 0);
    let request = Request::new(RTM_GETQDISC, NLM_F_ECHO, &header);
    let answer = match netlink.exchange(request) {
        Ok(answer) => answer,
        Err(error) if error.raw_os_error() == Some(ENOENT) => return Ok(false),
        Err(error) => return Err(error),
    };
    let kind = |message: &Vec<u8>| find(message.get(HEADER_BYTES..)?, TCA_KIND).map(text);
    Ok(answer.iter().filter_map(kind).any(|kind| kind == "ingress"))
}

fn remove_empty_qdisc(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<()> {
    for parent in [parent(TcPlace::Ingress), parent(TcPlace::Egress)] {
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
    place: TcPlace,
    name: &str,
) -> io::Result<Filter> {
    // The handle is the kernel's choice, which it echoes.
    let info = last_priority(netlink, ifindex, place)? << 16 | u32::from(ETH_P_ALL.to_be());
    let header = header(ifindex, 0, parent(place), info);
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

/// A priority behind those of the filters that are there; 0 leaves it to the kernel.
fn last_priority(netlink: &mut Rtnetlink, ifindex: u32, place: TcPlace) -> io::Result<u32> {
    let messages = dump(netlink, ifindex, parent(place))?;
    let priority = |message: &Vec<u8>| Some(number(message.get(16..)?)? >> 16);
    let last = messages.iter().filter_map(priority).max();
    Ok(last.map_or(0, |last| (last + 1) & 0xffff))
}

fn remove(netlink: &mut Rtnetlink, filter: &Filter) -> io::Result<()> {
    let header = header(filter.ifindex, filter.handle, filter.parent, filter.info);
    let request = Request::new(RTM_DELTFILTER, 0, &header).attribute(TCA_KIND, b"bpf\0");
    netlink.exchange(request).map(drop)
}

/// The bpf filters of both places.
fn filters(netlink: &mut Rtnetlink, ifindex: u32) -> io::Result<Vec<Filter>> {
    let mut filters = Vec::new();
    for place in [TcPlace::Ingress, TcPlace::Egress] {
        let messages = dump(netlink, ifindex, parent(place))?;
        filters.extend(messages.iter().filter_map(|message| Filter::parse(message)));
    }
    Ok(filters)
}

/// All filters of a place, of whatever kind; none without the discipline.
pub(super) fn dump(netlink: &mut Rtnetlink, ifindex: u32, parent: u32) -> io::Result<Vec<Vec<u8>>> {
    let request = Request::new(RTM_GETTFILTER, NLM_F_DUMP, &header(ifindex, 0, parent, 0));
    netlink.exchange(request)
}

impl Filter {
    /// A message about a filter of kind `bpf`; `None` for one about something else.
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

pub(super) fn parent(place: TcPlace) -> u32 {
    // `TC_H_MIN_INGRESS` and `TC_H_MIN_EGRESS` of the discipline.
    match place {
        TcPlace::Ingress => 0xffff_fff2,
        TcPlace::Egress => 0xffff_fff3,
    }
}

/// `struct tcmsg`; `info` is the priority in its upper half and the protocol, in network byte order.
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
