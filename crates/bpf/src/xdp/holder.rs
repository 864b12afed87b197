//! Which XDP program an interface has already.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use abi::bpf::{ObjectKind, open_id, program_info};

use crate::rtnetlink::{Request, Rtnetlink, find, number, text};

// include/uapi/linux/rtnetlink.h, if_link.h
const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_XDP: u16 = 43;
const IFLA_EXT_MASK: u16 = 29;
const IFLA_TARGET_NETNSID: u16 = 46;
const RTEXT_FILTER_SKIP_STATS: u32 = 8;
/// Attributes with the number of the driver's program, the stack's and the hardware's, each with the
/// word by which ip(8) takes it away.
const PROGRAM_IDS: [(u16, &str); 3] = [(5, "xdpdrv"), (6, "xdpgeneric"), (7, "xdpoffload")];
const INTERFACE_HEADER_BYTES: usize = 16;
/// Descriptors of other processes that are looked at.
const MAX_DESCRIPTORS: usize = 1 << 20;

/// An XDP program that is on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpHolder {
    /// Its number.
    pub program_id: u32,
    /// Its name; `None` if it has none, or without `CAP_SYS_ADMIN`.
    pub program_name: Option<String>,
    /// The process that holds it there, as a link, and takes it along when it ends; `None` if there is
    /// none, a pinned link does that, or the process is not ours to look at.
    pub process: Option<HoldingProcess>,
    /// What takes it away if no link holds it: a word of `ip link set dev … word off`.
    pub ip_word: &'static str,
}

/// A process that holds a program at an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HoldingProcess {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
}

impl XdpHolder {
    /// The program on interface `ifindex` of the calling thread's network namespace; `None` if there is
    /// none.
    ///
    /// Looks at the descriptors of all processes where there is one.
    ///
    /// # Errors
    /// ENODEV.
    pub fn of(ifindex: u32) -> io::Result<Option<Self>> {
        let attributes = ask_about(ifindex, None)?;
        Ok(find(&attributes, IFLA_XDP).and_then(holder))
    }

    /// What takes it away from interface `link`, in words that follow its own.
    pub fn way_out(&self, link: &str) -> String {
        match &self.process {
            Some(_) => ", whose end detaches it".to_owned(),
            None => format!(" (detach it: ip link set dev {link} {} off)", self.ip_word),
        }
    }
}

/// The name of an interface with these attributes and the program on it, as far as they can be known.
pub(super) fn look(attributes: &[u8]) -> (Option<String>, Option<XdpHolder>) {
    let name = find(attributes, IFLA_IFNAME).map(text);
    let holder = find(attributes, IFLA_XDP).and_then(holder);
    (name, holder)
}

/// The attributes of an interface of the thread's namespace, or of the one with number `namespace` there.
pub(super) fn ask_about(ifindex: u32, namespace: Option<u32>) -> io::Result<Vec<u8>> {
    let mut header = [0; INTERFACE_HEADER_BYTES];
    header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    let mut request = Request::new(RTM_GETLINK, 0, &header)
        .attribute(IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    if let Some(namespace) = namespace {
        request = request.attribute(IFLA_TARGET_NETNSID, &namespace.to_ne_bytes());
    }
    let answer = Rtnetlink::open()?.exchange(request)?;
    let link = answer.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
    Ok(link
        .get(INTERFACE_HEADER_BYTES..)
        .unwrap_or_default()
        .to_vec())
}

fn holder(xdp: &[u8]) -> Option<XdpHolder> {
    let on_place = |(kind, word)| Some((number(find(xdp, kind)?)?, word));
    let (program_id, ip_word) = PROGRAM_IDS.into_iter().find_map(on_place)?;
    Some(XdpHolder {
        program_id,
        program_name: program_name(program_id),
        process: process(program_id),
        ip_word,
    })
}

/// The name of program `id`; `None` if it has none, or without `CAP_SYS_ADMIN`.
pub fn program_name(id: u32) -> Option<String> {
    let program = open_id(ObjectKind::Program, id).ok()??;
    let name = program_info(program.as_fd()).ok()?.name();
    (!name.is_empty()).then_some(name)
}

/// Looks for a link among the descriptors of all processes. To open links by number is no way: that
/// would hold those of others, for a moment in which they end.
fn process(program: u32) -> Option<HoldingProcess> {
    let mut left = MAX_DESCRIPTORS;
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let id = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(id) = id
            && holds(&process.path(), program, &mut left)
        {
            let name = fs::read_to_string(process.path().join("comm"));
            let name = name.unwrap_or_default();
            // A process may call itself anything.
            let name = name.trim_end().replace(char::is_control, "?");
            return Some(HoldingProcess { id, name });
        }
    }
    None
}

/// Whether the process whose folder this is has a link of `program`.
///
/// # Source
/// `bpf_link_show_fdinfo`, kernel/bpf/syscall.c.
fn holds(process: &Path, program: u32, left: &mut usize) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    let line = format!("prog_id:\t{program}");
    for descriptor in descriptors.flatten() {
        let Some(fewer) = left.checked_sub(1) else {
            return false;
        };
        *left = fewer;
        let target = fs::read_link(descriptor.path()).unwrap_or_default();
        if !target.to_string_lossy().contains("bpf_link") {
            continue;
        }
        let told = fs::read_to_string(process.join("fdinfo").join(descriptor.file_name()));
        if told.is_ok_and(|told| told.lines().any(|told| told == line)) {
            return true;
        }
    }
    false
}

impl fmt::Display for XdpHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "program {}", self.program_id)?;
        if let Some(name) = &self.program_name {
            write!(f, " ({name})")?;
        }
        f.write_str(" is attached already")?;
        if let Some(HoldingProcess { id, name }) = &self.process {
            write!(f, " by process {id} ({name})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::process::Command;

    use lab::Net;

    use super::*;
    use crate::{Insn, Program, ProgramKind, Reg, XdpLink, XdpPlace};

    const RTM_SETLINK: u16 = 19;
    const IFLA_XDP_FD: u16 = 1;
    const IFLA_XDP_FLAGS: u16 = 3;

    fn program(name: &str) -> Program {
        let code = [Insn::mov(Reg::R0, 2), Insn::Exit];
        Program::load(ProgramKind::Xdp, name, &code).unwrap()
    }

    /// Attaches without a link, as ip(8) does: it stays until someone detaches it.
    fn attach_as_ip(program: &Program, ifindex: u32, flags: u32) {
        let mut header = [0; INTERFACE_HEADER_BYTES];
        header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
        let request = Request::new(RTM_SETLINK, 0, &header).nested(IFLA_XDP, |xdp| {
            xdp.attribute(IFLA_XDP_FD, &program.as_fd().as_raw_fd().to_ne_bytes())
                .attribute(IFLA_XDP_FLAGS, &flags.to_ne_bytes())
        });
        Rtnetlink::open().unwrap().exchange(request).unwrap();
    }

    /// ip(8) is the witness: what it is told to do takes the program away.
    #[test]
    fn a_refusal_names_the_program_that_is_there_and_how_to_detach_it() {
        let [left, _right] = Net::new().pair();
        let interface = left.interface();
        let (index, name) = (interface.index.0, interface.name);
        let (ours, other) = (program("tapline"), program("xdp_drop_all"));
        let id = other.id().unwrap();
        for (flags, word, place) in [
            (
                abi::bpf::XDP_FLAGS_DRV_MODE,
                "xdpdrv",
                XdpPlace::NativeOrGeneric,
            ),
            (abi::bpf::XDP_FLAGS_SKB_MODE, "xdpgeneric", XdpPlace::Native),
        ] {
            left.run(|| {
                attach_as_ip(&other, index, flags);
                let refusal = XdpLink::attach(&ours, index, place).unwrap_err();
                let remedy = format!("ip link set dev {name} {word} off");
                assert_eq!(
                    refusal.to_string(),
                    format!(
                        "cannot attach XDP program to {name}: program {id} (xdp_drop_all) is \
                         attached already (detach it: {remedy})"
                    )
                );
                let status = Command::new("sh").args(["-c", &remedy]).status().unwrap();
                assert!(status.success());
                drop(XdpLink::attach(&ours, index, place).unwrap());
            });
        }
    }
}
