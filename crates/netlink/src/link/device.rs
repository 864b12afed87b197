//! Links that no message makes: those of the tun driver.

use abi::tun::{TunFile, TunLayer, TunOptions};

use super::Link;
use super::kind::{LinkInfo, LinkKind, Tun, TunMode};
use crate::error::{Cause, Step};
use crate::interface::IfName;
use crate::object::{Object, Unfit};

impl Link {
    /// The tun that is to be made, if it is one.
    pub(super) fn tun(&self) -> Option<&Tun> {
        match self.link_kind() {
            Some(LinkKind::Tun(tun)) => Some(tun),
            _ => None,
        }
    }

    /// Makes the link that `tun` says, in the namespace of the calling thread, and returns what says which it is.
    pub(super) fn make_tun(&self, tun: &Tun) -> Result<Self, Cause> {
        let name = self.check_tun().map_err(Cause::Unfit)?;
        let options = TunOptions {
            name: name.padded(),
            layer: match tun.mode {
                Some(TunMode::Tap) => TunLayer::Ethernet,
                _ => TunLayer::Ip,
            },
            packet_information: tun.pi == Some(true),
            offload_header: tun.vnet_hdr == Some(true),
            multi_queue: tun.multi_queue == Some(true),
        };
        let failed = |step| move |source| Cause::System { step, source };
        let file = TunFile::open().map_err(failed(Step::Device))?;
        let name = file.make(&options).map_err(failed(Step::Ioctl))?;
        if let Some(user) = tun.user {
            file.set_owner(user).map_err(failed(Step::Ioctl))?;
        }
        if let Some(group) = tun.group {
            file.set_group(group).map_err(failed(Step::Ioctl))?;
        }
        // Until here it goes with the file.
        file.keep().map_err(failed(Step::Ioctl))?;
        Ok(Self::named(IfName::of_padded(name)))
    }

    /// What has to be set of a tun that has just been made as `made`; `None` when that is all.
    pub(super) fn beside_tun(&self, made: &Self) -> Option<Self> {
        let rest = Self {
            index: made.index,
            name: None,
            linkinfo: self.port_kind().map(|port| LinkInfo {
                kind: None,
                port: Some(port.clone()),
            }),
            ..self.clone().settable()
        };
        (rest != Self::at(made.ifindex())).then_some(rest)
    }

    /// Refuses what the driver would pass over.
    fn check_tun(&self) -> Result<IfName, Unfit> {
        self.link_kind().map_or(Ok(()), LinkKind::check_new)?;
        let chosen = [
            (self.index.is_some(), "an index"),
            (self.lower.is_some(), "a link below it"),
            (
                self.tx_queue_count.is_some() || self.rx_queue_count.is_some(),
                "queues before programs open them",
            ),
        ];
        if let Some((_, what)) = chosen.into_iter().find(|(is_said, _)| *is_said) {
            return Err(Unfit::new(format!("a tun cannot be given {what}")));
        }
        self.name.ok_or_else(|| Unfit::new("a tun needs a name"))
    }
}
