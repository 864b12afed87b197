//! Which MTU a driver refuses XDP for.

use std::fmt;
use std::io;

use super::holder::ask_about;
use crate::rtnetlink::{find, number, text};

// include/uapi/linux/if_link.h
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;

/// An MTU that may be too large for XDP in a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpMtu {
    /// The interface that has it; a veth looks at that of its other end. `None` if that cannot be asked,
    /// or is called what is better not pasted into a shell.
    pub link: Option<String>,
    /// Bytes; `None` if it cannot be asked.
    pub mtu: Option<u32>,
    /// Whether it is that of the other end.
    pub is_peer: bool,
    /// Whether the driver refused for nothing else.
    pub is_certain: bool,
}

impl XdpMtu {
    /// The largest MTU that drivers take whose packets have to lie in a page of 4 KiB: what 256 bytes in
    /// front of the packet, 320 behind it, an Ethernet header, a VLAN tag and a check sequence leave.
    pub const ONE_PAGE: u32 = 4096 - 256 - 320 - 14 - 4 - 4;

    /// What of interface `ifindex`, whose attributes these are, may be the reason of `refusal`.
    ///
    /// # Source
    /// `veth_xdp_set`, drivers/net/veth.c, which alone answers ERANGE for it; EINVAL is what others do.
    pub(super) fn look(attributes: &[u8], refusal: &io::Error) -> Option<Self> {
        const EINVAL: i32 = 22;
        const ERANGE: i32 = 34;
        let is_certain = match refusal.raw_os_error()? {
            ERANGE => true,
            EINVAL => false,
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
        // A driver that says no more than that something is wrong is believed to mean a large one.
        let is_large = mtu.is_some_and(|mtu| mtu > Self::ONE_PAGE);
        (is_certain || is_large).then(|| Self {
            link: owner.and_then(|owner| name(find(owner, IFLA_IFNAME)?)),
            mtu,
            is_peer,
            is_certain,
        })
    }
}

/// The other end may be in a namespace whose owner is not to be trusted.
fn name(value: &[u8]) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-@".contains(c);
    Some(text(value)).filter(|name| name.chars().all(is_plain))
}

impl fmt::Display for XdpMtu {
    /// Whose MTU is too large, and the command that makes it smaller.
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
    use crate::{Insn, Program, ProgramKind, Reg, XdpLink, XdpMode, XdpPlace};

    /// The other end of a veth is in another namespace; the command that is told helps there.
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
        let refusal = attach(XdpPlace::Native).unwrap_err();
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
        let generic = attach(XdpPlace::NativeOrGeneric).unwrap();
        assert_eq!(generic.mode(), XdpMode::Generic);
        let why = generic.native_refusal().unwrap().mtu.clone();
        assert_eq!(why.unwrap().to_string(), text);
        drop(generic);
        let lower = || Command::new("sh").args(["-c", &remedy]).status();
        assert!(right.run(lower).unwrap().success());
        drop(attach(XdpPlace::Native).unwrap());
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
            let found = XdpMtu::look(&attributes(*b"eth0", mtu), &refusal);
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
