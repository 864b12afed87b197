//! The XDP program that is attached to an interface.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use abi::bpf::{ObjectKind, open_id, program_info};

use crate::rtnetlink::{Request, Rtnetlink, find, number, text};

// include/uapi/linux/rtnetlink.h, if_link.h
const RTM_GETLINK: u16 = libc::RTM_GETLINK;
const IFLA_IFNAME: u16 = libc::IFLA_IFNAME;
const IFLA_XDP: u16 = libc::IFLA_XDP;
const IFLA_EXT_MASK: u16 = libc::IFLA_EXT_MASK;
const IFLA_TARGET_NETNSID: u16 = libc::IFLA_TARGET_NETNSID;
const RTEXT_FILTER_SKIP_STATS: u32 = 8;
/// Attributes with the ids of the driver's, the generic and the offloaded program, each with the word that ip(8) uses to
/// detach it.
const PROGRAM_IDS: [(u16, &str); 3] = [(5, "xdpdrv"), (6, "xdpgeneric"), (7, "xdpoffload")];
const INTERFACE_HEADER_BYTES: usize = 16;
/// Largest number of descriptors of other processes to inspect.
const MAX_DESCRIPTORS: usize = 1 << 20;

/// An XDP program that is attached to an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachedXdpProgram {
    /// Id of the program.
    pub program_id: u32,
    /// Name of the program. `None` if it has none, or without `CAP_SYS_ADMIN`.
    pub program_name: Option<String>,
    /// The process that holds the program's link; the program is detached when it ends. `None` if there is no link, a pinned
    /// link, or the process may not be inspected.
    pub process: Option<OwnerProcess>,
    /// The word of `ip link set dev … WORD off` that detaches a program without link.
    pub ip_word: &'static str,
}

/// A process that holds the link of an XDP program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnerProcess {
    /// Process id.
    pub id: u32,
    /// Process name.
    pub name: String,
}

impl AttachedXdpProgram {
    /// The program on interface `ifindex` of the calling thread's network namespace. `None` if there is none.
    ///
    /// If there is one, inspects the descriptors of all processes.
    ///
    /// # Errors
    /// ENODEV.
    pub fn of(ifindex: u32) -> io::Result<Option<Self>> {
        let attributes = ask_about(ifindex, None)?;
        Ok(find(&attributes, IFLA_XDP).and_then(holder))
    }

    /// How to detach the program from interface `link`, as a suffix to its display.
    pub fn removal(&self, link: &str) -> String {
        match &self.process {
            Some(_) => ", whose end detaches it".to_owned(),
            None => format!(" (detach it: ip link set dev {link} {} off)", self.ip_word),
        }
    }
}

/// Name and program of the interface with these attributes, as far as known.
pub(super) fn look(attributes: &[u8]) -> (Option<String>, Option<AttachedXdpProgram>) {
    let name = find(attributes, IFLA_IFNAME).map(text);
    let holder = find(attributes, IFLA_XDP).and_then(holder);
    (name, holder)
}

/// The attributes of an interface in the calling thread's namespace, or in the namespace with id `namespace`.
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

fn holder(xdp: &[u8]) -> Option<AttachedXdpProgram> {
    let on_place = |(kind, word)| Some((number(find(xdp, kind)?)?, word));
    let (program_id, ip_word) = PROGRAM_IDS.into_iter().find_map(on_place)?;
    Some(AttachedXdpProgram {
        program_id,
        program_name: program_name(program_id),
        process: process(program_id),
        ip_word,
    })
}

/// Name of program `id`. `None` if it has none, or without `CAP_SYS_ADMIN`.
pub fn program_name(id: u32) -> Option<String> {
    let program = open_id(ObjectKind::Program, id).ok()??;
    let name = program_info(program.as_fd()).ok()?.name();
    (!name.is_empty()).then_some(name)
}

/// Searches the descriptors of all processes for a link. Does not open links by id: that would keep other processes' links
/// alive for a moment.
fn process(program: u32) -> Option<OwnerProcess> {
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
            // A process can choose any name.
            let name = name.trim_end().replace(char::is_control, "?");
            return Some(OwnerProcess { id, name });
        }
    }
    None
}

/// Whether the process with this directory in /proc holds a link of `program`.
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

impl fmt::Display for AttachedXdpProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "program {}", self.program_id)?;
        if let Some(name) = &self.program_name {
            write!(f, " ({name})")?;
        }
        f.write_str(" is attached already")?;
        if let Some(OwnerProcess { id, name }) = &self.process {
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
    use crate::{Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink};

    const RTM_SETLINK: u16 = 19;
    const IFLA_XDP_FD: u16 = 1;
    const IFLA_XDP_FLAGS: u16 = 3;

    fn program(name: &str) -> Program {
        let code = [Insn::mov(Reg::R0, 2), Insn::Exit];
        Program::load(ProgramKind::Xdp, name, &code).unwrap()
    }

    /// Attaches without a link, as ip(8) does: the program stays until it is detached.
    fn attach_as_ip(program: &Program, ifindex: u32, flags: u32) {
        let mut header = [0; INTERFACE_HEADER_BYTES];
        header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
        let request = Request::new(RTM_SETLINK, 0, &header).nested(IFLA_XDP, |xdp| {
            xdp.attribute(IFLA_XDP_FD, &program.as_fd().as_raw_fd().to_ne_bytes())
                .attribute(IFLA_XDP_FLAGS, &flags.to_ne_bytes())
        });
        Rtnetlink::open().unwrap().exchange(request).unwrap();
    }

    /// Runs the suggested ip(8) command and checks that it detaches the program.
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
                XdpAttachMode::NativeOrGeneric,
            ),
            (
                abi::bpf::XDP_FLAGS_SKB_MODE,
                "xdpgeneric",
                XdpAttachMode::Native,
            ),
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
