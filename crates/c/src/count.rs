//! Counting in the kernel.

use std::ffi::{CString, c_char, c_int};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use tapline::Stopper;
use tapline::count::{
    Count, CountClass, CountDirection, CountError, CountEvent, CountInterval, CountLayer,
    CountOptions, Group, GroupBy, Traffic,
};

use crate::arguments::{Options, Text, array, options, put};
use crate::error::{c_string, tapline_error};
use crate::expression;
use crate::failure::Error;
use crate::guard::guard;
use crate::handle::{Kind, Object, Table};
use crate::namespace;
use crate::status::tapline_status;

/// Programs in the kernel that count packets.
pub struct tapline_count(());

/// Which packets are counted.
#[repr(u32)]
pub enum tapline_count_direction {
    /// Received and sent ones.
    Both = 0,
    /// Received ones.
    In = 1,
    /// Sent ones.
    Out = 2,
}

/// Which bytes are counted.
#[repr(u32)]
pub enum tapline_count_layer {
    /// The bytes of the frame, without FCS.
    Ethernet = 0,
    /// The bytes of the frame, padded to 60 bytes, with FCS.
    EthernetFcs = 1,
    /// The same with preamble and gap.
    Wire = 2,
}

/// The field of a packet by which a class is split into groups. Addresses, ports and protocol are those of the outermost
/// IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum tapline_count_by {
    /// No groups.
    Nothing = 0,
    /// IPv4 or IPv6 source address.
    Src = 1,
    /// IPv4 or IPv6 destination address.
    Dst = 2,
    /// Source port.
    SrcPort = 3,
    /// Destination port.
    DstPort = 4,
    /// IP protocol.
    Protocol = 5,
    /// Id of the outermost VLAN.
    Vlan = 6,
    /// `EtherType` after the VLAN tags.
    EtherType = 7,
    /// Ethernet source address.
    SrcMac = 8,
    /// Ethernet destination address.
    DstMac = 9,
}

/// A class of packets. A packet counts in each class that it matches.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_count_class<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// Its packets, in the language of pcap-filter(7). Null or empty: all.
    pub filter: Text<'a>,
}

/// What to count, and where.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_count_options<'a> {
    /// `sizeof(tapline_count_options)`.
    pub size: usize,
    /// Names of the interfaces; at least one.
    pub interfaces: *const Text<'a>,
    /// Number of the interfaces.
    pub interface_count: usize,
    /// The classes. Default: one named `all`, of all packets.
    pub classes: *const tapline_count_class<'a>,
    /// Number of the classes.
    pub class_count: usize,
    /// Length of an interval, at least 1 ms. Default: 1 s.
    pub interval_ns: u64,
    /// End after this time. Default: never.
    pub max_ns: u64,
    /// A `tapline_count_direction`.
    pub direction: u32,
    /// A `tapline_count_layer`.
    pub layer: u32,
    /// A `tapline_count_by`: splits each class into groups.
    pub by: u32,
    /// Maximum number of groups of all classes, at most 2^24 or what fits into a quarter of the memory. Packets of further
    /// groups count as others. Default: 4096. Must be 0 without `by`, otherwise INVALID_ARGUMENT.
    pub max_groups: u32,
    /// The network namespace of the interfaces: its name below /run/netns, or a path such as /proc/PID/ns/net. Default: that of
    /// the calling thread. Requires CAP_SYS_ADMIN.
    pub netns: Text<'a>,
}

// SAFETY: `repr(C)`, its size first, and integers and pointers after it: zeros are the defaults.
unsafe impl Options for tapline_count_options<'_> {
    const NAME: &'static str = "tapline_count_options";
}

/// The packets of a class.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_class_count {
    /// The name of the class.
    pub name: *const c_char,
    /// Packets.
    pub packets: u64,
    /// Bytes, as the option `layer` says.
    pub bytes: u64,
}

// SAFETY: the name is an address for C; Rust code never follows it.
unsafe impl Send for tapline_class_count {}

/// Longest key of a group as text, with its zero byte: an IPv6 address.
pub const TAPLINE_GROUP_KEY_BYTES: usize = 48;

/// Packets of a class with the same key.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_group_count {
    /// The key as text: `192.0.2.1`, `443`, `0x0800`, `02:00:00:00:00:01`.
    pub key: [c_char; TAPLINE_GROUP_KEY_BYTES],
    /// Packets.
    pub packets: u64,
    /// Bytes, as the option `layer` says.
    pub bytes: u64,
}

impl From<&Group> for tapline_group_count {
    fn from(group: &Group) -> Self {
        let mut key = [0_u8; TAPLINE_GROUP_KEY_BYTES];
        // The last byte stays zero; a key that is too long is truncated.
        let _ = write!(&mut key[..TAPLINE_GROUP_KEY_BYTES - 1], "{}", group.key);
        Self {
            key: key.map(|byte| c_char::from_ne_bytes([byte])),
            packets: group.traffic.packets,
            bytes: group.traffic.bytes,
        }
    }
}

/// The groups of a class, as C sees them.
struct ClassGroups {
    groups: Vec<tapline_group_count>,
    other: u64,
}

impl ClassGroups {
    fn of(groups: &[Group], other: Traffic) -> Result<Self, Error> {
        let mut lent = Vec::new();
        let reserved = lent.try_reserve_exact(groups.len());
        reserved.map_err(|_| Error::no_memory("the groups"))?;
        lent.extend(groups.iter().map(tapline_group_count::from));
        Ok(Self {
            groups: lent,
            other: other.packets,
        })
    }
}

struct Open {
    count: Count,
    names: Vec<CString>,
    /// The last figures, lent to C until the next call.
    figures: Vec<tapline_class_count>,
    /// The same of their groups, by class.
    groups: Vec<ClassGroups>,
    /// An interval that has ended and was not lent, for want of memory.
    pending: Option<CountInterval>,
}

impl Object for Open {
    type Handle = tapline_count;
    type Shared = Stopper;
    const KIND: Kind = Kind::Count;
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Open> = Table::new();
        &TABLE
    }
}

impl Open {
    /// Waits for the end of an interval: for ever, or at most for `timeout`. `None` if there is none, or the count has ended.
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<CountInterval>, CountError> {
        let Some(timeout) = timeout else {
            return self.count.next();
        };
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.count.next_event_timeout(left)? {
                Some(CountEvent::Interval(interval)) => return Ok(Some(interval)),
                None => return Ok(None),
                // An interface went down or came up: the count continues.
                Some(_) => {}
            }
        }
    }

    fn lend(
        &mut self,
        traffic: impl Iterator<Item = Traffic>,
    ) -> (*const tapline_class_count, usize) {
        let names = self.names.iter();
        let figures = names
            .zip(traffic)
            .map(|(name, traffic)| tapline_class_count {
                name: name.as_ptr(),
                packets: traffic.packets,
                bytes: traffic.bytes,
            });
        self.figures.clear();
        self.figures.extend(figures);
        (self.figures.as_ptr(), self.figures.len())
    }
}

impl From<CountError> for Error {
    fn from(error: CountError) -> Self {
        let status = match &error {
            CountError::NoInterface
            | CountError::DuplicateInterface { .. }
            | CountError::DuplicateClass { .. }
            | CountError::InvalidOptions { .. }
            | CountError::TooManyClasses { .. }
            | CountError::TooManyGroups { .. } => tapline_status::InvalidArgument,
            CountError::Filter { .. } => tapline_status::Syntax,
            CountError::LinkLayer { .. } => tapline_status::Unsupported,
            _ => {
                let error = Self::system(&error);
                return match error.status {
                    tapline_status::Privilege => {
                        error.hint("give the program CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")
                    }
                    _ => error,
                };
            }
        };
        Self::from_source(status, &error)
    }
}

/// # Safety
/// `given` comes from C.
unsafe fn wanted_options(given: &tapline_count_options<'_>) -> Result<CountOptions, Error> {
    let mut wanted = CountOptions::default();
    // SAFETY: an array of C.
    for name in unsafe { array(given.interfaces, given.interface_count, "interfaces") }? {
        let name = name.required("the name of an interface")?;
        wanted.interfaces.push(name.to_owned());
    }
    // SAFETY: an array of C.
    for class in unsafe { array(given.classes, given.class_count, "classes") }? {
        let filter = match class.filter.optional("the filter of a class")? {
            None | Some("") => None,
            Some(text) => Some(expression::filter(text)?),
        };
        wanted.classes.push(CountClass {
            name: class.name.required("the name of a class")?.to_owned(),
            filter,
        });
    }
    if wanted.classes.is_empty() {
        let name = "all".to_owned();
        wanted.classes.push(CountClass { name, filter: None });
    }
    if given.interval_ns > 0 {
        wanted.interval = Duration::from_nanos(given.interval_ns);
    }
    wanted.duration = (given.max_ns > 0).then(|| Duration::from_nanos(given.max_ns));
    wanted.direction = match given.direction {
        0 => CountDirection::Both,
        1 => CountDirection::In,
        2 => CountDirection::Out,
        other => return Err(Error::value("direction", other)),
    };
    wanted.layer = match given.layer {
        0 => CountLayer::Ethernet,
        1 => CountLayer::EthernetFcs,
        2 => CountLayer::Wire,
        other => return Err(Error::value("layer", other)),
    };
    wanted.by = match given.by {
        0 => None,
        // GroupBy::ALL has the order of `tapline_count_by`, which a test compares.
        number => match GroupBy::ALL.get(number as usize - 1) {
            Some(by) => Some(*by),
            None => return Err(Error::value("by", number)),
        },
    };
    if given.max_groups > 0 {
        if wanted.by.is_none() {
            let text = "max_groups has no effect with the other options";
            return Err(Error::argument(text).hint("set by to the field that makes groups"));
        }
        wanted.groups = given.max_groups;
    }
    Ok(wanted)
}

/// Attaches a program to each interface, which counts from here on. No packet is copied. Close it with
/// `tapline_count_close`.
///
/// Privileges: CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; CAP_SYS_ADMIN to enter a network namespace. Kernel: Linux 5.9.
///
/// Errors: NOT_FOUND without such an interface, SYNTAX of a filter, PRIVILEGE, UNSUPPORTED, INVALID_ARGUMENT.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapline_count_open(
    count_options: *const tapline_count_options<'_>,
    out_count: Option<&mut MaybeUninit<*mut tapline_count>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_count = out_count.ok_or_else(|| Error::null("out_count"))?;
        // SAFETY: an option struct of C.
        let given = unsafe { options(count_options) }?;
        // SAFETY: its fields come from C.
        let wanted = unsafe { wanted_options(&given) }?;
        let netns = given.netns.optional("netns")?;
        let count = namespace::run_in(netns, || Ok(Count::open(wanted)?))?;
        let names = count.classes().map(|class| c_string(&class.name)).collect();
        let stopper = count.stopper();
        let open = Open {
            count,
            names,
            figures: Vec::new(),
            groups: Vec::new(),
            pending: None,
        };
        out_count.write(Open::table().insert(open, stopper)?);
        Ok(tapline_status::Ok)
    })
}

/// Waits at most `timeout_ns` for the end of the interval, for ever if it is negative, and lends the figures of each class in
/// it. If the interval does not end in that time the array is empty, and no groups are lent. If the caller is late the
/// interval is longer: intervals have no gaps. The array is valid until the next call with this handle other than
/// `tapline_count_groups` and `tapline_count_stop`. `out_span_ns`, the length of the interval, may be null.
///
/// Returns END when the count has ended, after its last interval.
///
/// Errors: SYSTEM, with ENOMEM if there is no memory for the groups. Their packets are in the totals, and in the next interval
/// that is lent.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_count_next(
    count: *mut tapline_count,
    timeout_ns: i64,
    out_figures: Option<&mut MaybeUninit<*const tapline_class_count>>,
    out_figure_count: Option<&mut MaybeUninit<usize>>,
    out_span_ns: Option<&mut MaybeUninit<u64>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_figures = out_figures.ok_or_else(|| Error::null("out_figures"))?;
        let out_figure_count = out_figure_count.ok_or_else(|| Error::null("out_figure_count"))?;
        let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
        Open::table().with(count, |open| {
            // The groups of the last call need no memory meanwhile.
            open.groups = Vec::new();
            if open.pending.is_none() {
                open.pending = open.next(timeout)?;
            }
            let (classes, span_ns) = match &open.pending {
                Some(interval) => (interval.classes.as_slice(), interval.span_ns),
                None if open.count.has_ended() => return Ok(tapline_status::End),
                None => (&[][..], 0),
            };
            let groups: Result<Vec<_>, Error> = classes
                .iter()
                .map(|class| ClassGroups::of(&class.groups, class.other))
                .collect();
            open.groups = groups?;
            let classes = open
                .pending
                .take()
                .map_or(Vec::new(), |interval| interval.classes);
            let (figures, number) = open.lend(classes.iter().map(|class| class.traffic));
            out_figures.write(figures);
            out_figure_count.write(number);
            if let Some(place) = out_span_ns {
                place.write(span_ns);
            }
            Ok(tapline_status::Ok)
        })
    })
}

/// Lends the totals of each class since the count was opened, as of now. Does not affect the intervals. Otherwise as
/// `tapline_count_next`. Costs a system call per interface and direction.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_count_totals(
    count: *mut tapline_count,
    out_figures: Option<&mut MaybeUninit<*const tapline_class_count>>,
    out_figure_count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_figures = out_figures.ok_or_else(|| Error::null("out_figures"))?;
        let out_figure_count = out_figure_count.ok_or_else(|| Error::null("out_figure_count"))?;
        Open::table().with(count, |open| {
            open.groups = Vec::new();
            let totals = open.count.read()?;
            let classes = &totals.classes;
            let groups: Result<Vec<_>, Error> = classes
                .iter()
                .map(|class| ClassGroups::of(&class.groups, class.other))
                .collect();
            open.groups = groups?;
            let (figures, number) = open.lend(classes.iter().map(|class| class.traffic));
            out_figures.write(figures);
            out_figure_count.write(number);
            Ok(tapline_status::Ok)
        })
    })
}

/// Lends the groups of the class at position `class` in the figures that the last call lent, most packets first. They are
/// valid as long as those. `out_other`, the number of packets of groups for which there was no room, may be null.
///
/// Returns END if there is no such class, also after a call that lent an empty array. Without the option `by` there are no
/// groups.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_count_groups(
    count: *mut tapline_count,
    class: usize,
    out_groups: Option<&mut MaybeUninit<*const tapline_group_count>>,
    out_group_count: Option<&mut MaybeUninit<usize>>,
    out_other: Option<&mut MaybeUninit<u64>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let out_groups = out_groups.ok_or_else(|| Error::null("out_groups"))?;
        let out_group_count = out_group_count.ok_or_else(|| Error::null("out_group_count"))?;
        Open::table().with(count, |open| {
            let Some(ClassGroups { groups, other }) = open.groups.get(class) else {
                return Ok(tapline_status::End);
            };
            out_groups.write(groups.as_ptr());
            out_group_count.write(groups.len());
            if let Some(place) = out_other {
                place.write(*other);
            }
            Ok(tapline_status::Ok)
        })
    })
}

/// Ends the count: `tapline_count_next` returns the last interval, and then END.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_count_stop(
    count: *const tapline_count,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        Open::table().shared(count, |stopper| {
            stopper.stop();
            Ok(tapline_status::Ok)
        })
    })
}

/// A descriptor for poll(2) and epoll(7): readable when an interval or the count has ended, and when an interface has changed,
/// which may end neither. Call `tapline_count_next` with a timeout of 0 then. It belongs to the count: do not close it.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_count_fd(
    count: *mut tapline_count,
    out_fd: Option<&mut MaybeUninit<c_int>>,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        let fd = Open::table().with(count, |open| Ok(open.count.as_fd().as_raw_fd()))?;
        put(out_fd, fd, "out_fd")?;
        Ok(tapline_status::Ok)
    })
}

/// Detaches the programs. Does nothing if `count` is null.
///
/// Threads: one at a time with this handle.
#[unsafe(no_mangle)]
pub extern "C" fn tapline_count_close(
    count: *mut tapline_count,
    error: Option<&mut MaybeUninit<*mut tapline_error>>,
) -> tapline_status {
    guard(error, || {
        if !count.is_null() {
            Open::table().remove(count)?;
        }
        Ok(tapline_status::Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_numbers() {
        use tapline_count_by::*;
        let numbers = [
            Src, Dst, SrcPort, DstPort, Protocol, Vlan, EtherType, SrcMac, DstMac,
        ];
        for (place, (by, number)) in GroupBy::ALL.iter().zip(numbers).enumerate() {
            assert_eq!(format!("{by:?}"), format!("{number:?}"));
            assert_eq!(place + 1, number as usize);
        }
    }
}
