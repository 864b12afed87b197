//! Lists the tc filters of an interface.

use std::io;

use super::clsact::{HEADER_BYTES, TCA_BPF_NAME, TCA_KIND, TCA_OPTIONS, dump, is_ingress_only};
use super::hook::TcHook;
use crate::rtnetlink::{Rtnetlink, find, number, text};

const TCA_BPF_ID: u16 = 11;

/// A tc filter of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcFilter {
    /// Kind, as tc(8) names it: `bpf`, `flower`, `u32` …
    pub kind: String,
    /// Priority (`pref`): the lowest runs first.
    pub priority: u16,
    /// Name of a filter of kind `bpf`.
    pub name: Option<String>,
    /// Id of its program.
    pub program: Option<u32>,
}

/// The filters that the clsact or ingress discipline runs at hook `place` of interface `ifindex` of the calling thread's network
/// namespace, in order. Of several filters of one kind and priority without programs, lists one.
///
/// # Errors
/// ENODEV; EOPNOTSUPP if the kernel has no traffic control.
/// # Source
/// `tc_dump_tfilter`, net/sched/cls_api.c.
#[doc(alias = "RTM_GETTFILTER")]
pub fn tc_filters(ifindex: u32, place: TcHook) -> io::Result<Vec<TcFilter>> {
    let mut netlink = Rtnetlink::open()?;
    // The ingress discipline would list its filters for egress, too.
    if place == TcHook::Egress && is_ingress_only(&mut netlink, ifindex)? {
        return Ok(Vec::new());
    }
    let messages = dump(&mut netlink, ifindex, place.parent())?;
    let mut filters: Vec<TcFilter> = Vec::new();
    for filter in messages.iter().filter_map(|message| parse(message)) {
        // The kernel sends a message about a priority before those about its filters.
        let is_same = |one: &TcFilter| one.priority == filter.priority && one.kind == filter.kind;
        match filters.last_mut().filter(|last| is_same(last)) {
            Some(last) if last.program.is_none() => *last = filter,
            Some(_) if filter.program.is_none() => {}
            _ => filters.push(filter),
        }
    }
    filters.sort_by_key(|filter| filter.priority);
    Ok(filters)
}

fn parse(message: &[u8]) -> Option<TcFilter> {
    let (header, attributes) = message.split_at_checked(HEADER_BYTES)?;
    let info = number(header.get(16..)?)?;
    let options = find(attributes, TCA_OPTIONS);
    let option = |kind| find(options?, kind);
    let kind = text(find(attributes, TCA_KIND)?);
    let of_bpf = |kind_of_option| option(kind_of_option).filter(|_| kind == "bpf");
    Some(TcFilter {
        priority: (info >> 16) as u16,
        name: of_bpf(TCA_BPF_NAME).map(text),
        program: of_bpf(TCA_BPF_ID).and_then(number),
        kind,
    })
}
