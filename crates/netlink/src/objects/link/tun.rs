//! Links of the tun driver, which are created through `/dev/net/tun`.

use abi::tun::{TunFile, TunLayer, TunOptions};

use super::Link;
use super::kind::{KindSettings, Tun, TunMode};
use super::object::{LinkInfo, LinkKind};
use crate::error::{Cause, InvalidRequest, Syscall};
use crate::object::Object;
use crate::values::interface::IfName;

impl Link {
    /// Its tun settings, if it is a tun or tap.
    pub(super) fn tun(&self) -> Option<&Tun> {
        match self.link_kind() {
            Some(LinkKind::Tun(tun)) => Some(tun),
            _ => None,
        }
    }

    /// Creates the link in the namespace of the calling thread and returns an object that identifies it.
    pub(super) fn create_tun(&self, tun: &Tun) -> Result<Self, Cause> {
        let name = self.check_tun().map_err(Cause::Invalid)?;
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
        let failed = |call| move |source| Cause::System { call, source };
        let file = TunFile::open().map_err(failed(Syscall::OpenTun))?;
        let name = file.make(&options).map_err(failed(Syscall::Ioctl))?;
        if let Some(user) = tun.user {
            file.set_owner(user).map_err(failed(Syscall::Ioctl))?;
        }
        if let Some(group) = tun.group {
            file.set_group(group).map_err(failed(Syscall::Ioctl))?;
        }
        // Until here the link is deleted with the file.
        file.keep().map_err(failed(Syscall::Ioctl))?;
        Ok(Self::named(IfName::of_padded(name)))
    }

    /// The remaining settings of a tun after its creation; `None` if there are none.
    pub(super) fn tun_settings(&self, created: &Self) -> Option<Self> {
        let settings = Self {
            index: created.index,
            name: None,
            linkinfo: self.port_kind().map(|port| LinkInfo {
                kind: None,
                port: Some(port.clone()),
            }),
            ..self.clone().settable()
        };
        (settings != Self::at(created.ifindex())).then_some(settings)
    }

    /// Rejects fields that the driver would ignore.
    fn check_tun(&self) -> Result<IfName, InvalidRequest> {
        self.kind_settings()
            .map_or(Ok(()), KindSettings::check_new)?;
        let chosen = [
            (self.index.is_some(), "an index"),
            (self.lower.is_some(), "a lower link"),
            (
                self.tx_queue_count.is_some() || self.rx_queue_count.is_some(),
                "a number of queues: programs open them",
            ),
        ];
        if let Some((_, what)) = chosen.into_iter().find(|(is_given, _)| *is_given) {
            return Err(InvalidRequest::new(format!("a tun cannot have {what}")));
        }
        self.name
            .ok_or_else(|| InvalidRequest::new("a tun needs a name"))
    }
}
