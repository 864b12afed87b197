//! MTUs for which a driver refuses XDP.

use std::fmt;
use std::io;

use super::holder::ask_about;
use crate::rtnetlink::{find, number, text};

// include/uapi/linux/if_link.h
const IFLA_IFNAME: u16 = libc::IFLA_IFNAME;
const IFLA_MTU: u16 = libc::IFLA_MTU;
const IFLA_LINK: u16 = libc::IFLA_LINK;
const IFLA_LINKINFO: u16 = libc::IFLA_LINKINFO;
const IFLA_LINK_NETNSID: u16 = libc::IFLA_LINK_NETNSID;
const IFLA_INFO_KIND: u16 = libc::IFLA_INFO_KIND;

/// An MTU that may be too large for XDP in the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpMtuLimit {
    /// The interface with this MTU; a veth checks the MTU of its peer. `None` if it cannot be read, or its name is not safe to
    /// paste into a shell.
    pub link: Option<String>,
    /// The MTU in bytes. `None` if it cannot be read.
    pub mtu: Option<u32>,
    /// Whether it is the peer's MTU.
    pub is_peer: bool,
    /// Whether the MTU is certainly the reason.
    pub is_certain: bool,
}

impl XdpMtuLimit {
    /// The largest MTU for drivers that keep a packet in one 4 KiB page: minus 256 bytes before the packet, 320 after it, an
    /// Ethernet header, a VLAN tag and a check sequence.
    pub const ONE_PAGE: u32 = 4096 - 256 - 320 - 14 - 4 - 4;

    /// The MTU of the interface with these attributes, if it may be the reason for `refusal`.
    ///
    /// # Source
    /// `veth_xdp_set`, drivers/net/veth.c: only veth returns ERANGE for this; other drivers return EINVAL.
    pub(super) fn look(attributes: &[u8], refusal: &io::Error) -> Option<Self> {
        let is_certain = match refusal.raw_os_error()? {
            libc::ERANGE => true,
            libc::EINVAL => false,
            _ => return None,
        };
        let kind = find(attributes, IFLA_LINKINFO).and_then(|info| find(info, IFLA_INFO_KIND));
        let is_peer = kind.map(text).as_deref() == Some("veth");
        let peer = || {
            let namespace = find(attributes, IFLA_LINK_NETNSID).and_then(number);
            ask_about(find(attributes, IFLA_LINK).and_then(number)?, namespace).ok()
        };
        let peer = if is_peer { peer() } else { None };
        let owner = if is_peer {
            peer.as_deref()
        } else {
            Some(attributes)
        };
        let mtu = owner.and_then(|owner| number(find(owner, IFLA_MTU)?));
        // EINVAL is ambiguous; a large MTU is the most likely reason.
        let is_large = mtu.is_some_and(|mtu| mtu > Self::ONE_PAGE);
        (is_certain || is_large).then(|| Self {
            link: owner.and_then(|owner| name(find(owner, IFLA_IFNAME)?)),
            mtu,
            is_peer,
            is_certain,
        })
    }
}

/// The peer may be in an untrusted namespace.
fn name(value: &[u8]) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-@".contains(c);
    Some(text(value)).filter(|name| name.chars().all(is_plain))
}

impl fmt::Display for XdpMtuLimit {
    /// The MTU that is too large, and the command that lowers it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_peer {
            "the MTU of its other end"
        } else {
            "its MTU"
        })?;
        if let (true, Some(link)) = (self.is_peer, &self.link) {
            write!(f, " {link}")?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, ", {mtu},")?;
        }
        f.write_str(if self.is_certain { " is" } else { " may be" })?;
        let unknown = if self.is_peer { "PEER" } else { "IF" };
        let (link, most) = (self.link.as_deref().unwrap_or(unknown), Self::ONE_PAGE);
        write!(
            f,
            " too large for XDP in the driver: 'ip link set {link} mtu {most}'"
        )?;
        if self.is_peer {
            f.write_str(" where that is")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use lab::Net;

    use super::*;
    use crate::{Insn, Program, ProgramKind, Reg, XdpAttachMode, XdpLink, XdpMode};

    /// The peer of a veth is in another namespace. The suggested command works there.
    #[test]
    fn the_mtu_of_the_other_end_is_named_and_how_to_lower_it() {
        let [left, right] = Net::new().pair();
        let (index, peer) = (left.interface().index.0, right.interface().name.to_string());
        let set = |mtu: u32| {
            let mtu = mtu.to_string();
            let mut command = right.command("ip");
            let status = command.args(["link", "set", &peer, "mtu", &mtu]).status();
            assert!(status.unwrap().success());
        };
        let code = [Insn::mov(Reg::R0, 2), Insn::Exit];
        let program = Program::load(ProgramKind::Xdp, "tapline", &code).unwrap();
        let attach = |place| left.run(|| XdpLink::attach(&program, index, place));
        set(9000);
        let refusal = attach(XdpAttachMode::Native).unwrap_err();
        let remedy = format!("ip link set {peer} mtu 3498");
        let text = format!(
            "the MTU of its other end {peer}, 9000, is too large for XDP in the driver: '{remedy}' \
             where that is"
        );
        let name = left.interface().name;
        assert_eq!(
            refusal.to_string(),
            format!("cannot attach native XDP program to {name} ({text})")
        );
        let generic = attach(XdpAttachMode::NativeOrGeneric).unwrap();
        assert_eq!(generic.mode(), XdpMode::Generic);
        let why = generic.native_refusal().unwrap().mtu.clone();
        assert_eq!(why.unwrap().to_string(), text);
        drop(generic);
        let lower = || Command::new("sh").args(["-c", &remedy]).status();
        assert!(right.run(lower).unwrap().success());
        drop(attach(XdpAttachMode::Native).unwrap());
    }

    /// Attributes as the kernel writes them.
    fn attributes(name: [u8; 4], mtu: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, value) in [(IFLA_IFNAME, name), (IFLA_MTU, mtu.to_ne_bytes())] {
            bytes.extend(8_u16.to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
        }
        bytes
    }

    #[test]
    fn where_drivers_do_not_say_what_is_wrong_a_large_mtu_is_the_likely_reason() {
        let look = |mtu, code| {
            let refusal = io::Error::from_raw_os_error(code);
            let found = XdpMtuLimit::look(&attributes(*b"eth0", mtu), &refusal);
            found.map(|found| found.to_string())
        };
        let remedy = "too large for XDP in the driver: 'ip link set eth0 mtu 3498'";
        for (mtu, code, expected) in [
            (9000, 22, Some(format!("its MTU, 9000, may be {remedy}"))),
            (9000, 34, Some(format!("its MTU, 9000, is {remedy}"))),
            (3498, 22, None),
            (9000, 95, None),
        ] {
            assert_eq!(look(mtu, code), expected, "{mtu} {code}");
        }
        assert_eq!(name(b"a;b\0"), None);
    }
}
