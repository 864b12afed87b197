//! Chooses the hook for a counting program, and attaches it.

use std::io;
use std::sync::Arc;

use bpf::count::CountingHook;
use bpf::{TcHook, TcLink, XdpAttachError, XdpAttachMode, XdpLink, XdpMode, tcx_programs};
use filter::FilterTarget;
use netlink::{Link, Netlink, NetlinkError};

use super::classes::ActiveClass;
use super::error::CountError;
use super::group_key::GroupBy;
use super::options::{CountOptions, IngressHook};
use super::point::{CountHook, CountPoint, FallbackReason, PacketDirection};
use super::point_counter::{
    Attachment, ClassFilter, CountedInterface, LoadedProgram, PointCounter, SharedTables, idle,
};

/// The parts of a count that all points share.
pub(super) struct AttachPlan<'a> {
    pub options: &'a CountOptions,
    pub classes: &'a [ActiveClass],
    pub slots: u32,
    pub tables: SharedTables<'a>,
}

impl AttachPlan<'_> {
    /// Attaches an idle program to an interface and loads the counting one.
    pub fn attach(
        &self,
        target: CountedInterface,
        direction: PacketDirection,
    ) -> Result<PointCounter, CountError> {
        match (direction, self.options.ingress) {
            (PacketDirection::Out, _) | (PacketDirection::In, IngressHook::Tc) => {
                self.at_tc(target, direction, None)
            }
            (PacketDirection::In, IngressHook::Xdp(place)) => {
                let loaded = self.prepare(&target, FilterTarget::Xdp)?;
                let attached = self.at_xdp(target, loaded, place)?;
                attached.map_err(|(target, error)| CountError::Xdp {
                    link: target.link,
                    error,
                })
            }
            (PacketDirection::In, IngressHook::Auto) => {
                if !target.is_ethernet() {
                    return self.at_tc(target, direction, Some(FallbackReason::NotEthernet));
                }
                let loaded = match self.prepare(&target, FilterTarget::Xdp) {
                    // Groups need helpers that XDP got later than tc (`bpf_xdp_load_bytes`: Linux
                    // 5.18).
                    Err(CountError::Load { error, .. }) => {
                        let reason = FallbackReason::ProgramRefused(Arc::new(error));
                        return self.at_tc(target, direction, Some(reason));
                    }
                    loaded => loaded?,
                };
                let strips_tags = target.strips_tags;
                if strips_tags && self.needs_tags(&loaded) {
                    return self.at_tc(target, direction, Some(FallbackReason::VlanStripped));
                }
                match self.at_xdp(target, loaded, XdpAttachMode::Native)? {
                    Ok(counter) => Ok(PointCounter {
                        hides_tags: strips_tags,
                        ..counter
                    }),
                    Err((target, error)) if is_final(&error.source) => Err(CountError::Xdp {
                        link: target.link,
                        error,
                    }),
                    Err((target, error)) => {
                        let reason = FallbackReason::XdpRefused(Arc::from(error));
                        self.at_tc(target, direction, Some(reason))
                    }
                }
            }
        }
    }

    fn needs_tags(&self, loaded: &LoadedProgram) -> bool {
        let mut filters = loaded.filters.iter();
        self.options.by == Some(GroupBy::Vlan) || filters.any(ClassFilter::reads_vlan_tag)
    }

    fn prepare(
        &self,
        target: &CountedInterface,
        at: FilterTarget,
    ) -> Result<LoadedProgram, CountError> {
        let counting = CountingHook::new(at, target.link_type);
        let layer = self.options.layer;
        LoadedProgram::new(
            target,
            counting,
            layer,
            self.classes,
            self.slots,
            self.tables,
        )
    }

    fn at_xdp(
        &self,
        target: CountedInterface,
        loaded: LoadedProgram,
        place: XdpAttachMode,
    ) -> Result<Result<PointCounter, (CountedInterface, Box<XdpAttachError>)>, CountError> {
        let link = match XdpLink::attach(idle(&target, &loaded)?.program(), target.index, place) {
            Ok(link) => link,
            Err(error) => return Ok(Err((target, Box::new(error)))),
        };
        let hook = match link.mode() {
            XdpMode::Native => CountHook::XdpNative,
            XdpMode::Generic => CountHook::XdpGeneric,
        };
        let refusal = link.native_refusal().cloned();
        let reason = refusal.map(FallbackReason::XdpRefused);
        let attachment = Attachment::Xdp(link);
        Ok(Ok(self.counter(
            target,
            loaded,
            attachment,
            PacketDirection::In,
            hook,
            reason,
        )))
    }

    fn at_tc(
        &self,
        target: CountedInterface,
        direction: PacketDirection,
        reason: Option<FallbackReason>,
    ) -> Result<PointCounter, CountError> {
        let (at, place) = match direction {
            PacketDirection::In => (FilterTarget::TcIngress, TcHook::Ingress),
            PacketDirection::Out => (FilterTarget::TcEgress, TcHook::Egress),
        };
        let loaded = self.prepare(&target, at)?;
        let link = TcLink::attach_first(idle(&target, &loaded)?.program(), target.index, place);
        let link = link.map_err(|error| CountError::Tc {
            link: target.link.clone(),
            error,
        })?;
        let hook = if link.is_clsact() {
            CountHook::Clsact
        } else {
            CountHook::Tcx
        };
        let attachment = Attachment::Tc(link);
        Ok(self.counter(target, loaded, attachment, direction, hook, reason))
    }

    fn counter(
        &self,
        target: CountedInterface,
        loaded: LoadedProgram,
        attachment: Attachment,
        direction: PacketDirection,
        hook: CountHook,
        reason: Option<FallbackReason>,
    ) -> PointCounter {
        PointCounter {
            point: CountPoint {
                link: target.link.clone(),
                index: target.index,
                direction,
                hook,
                reason,
            },
            target,
            layer: self.options.layer,
            loaded,
            attachment,
            hides_tags: false,
        }
    }
}

/// Whether another hook would fail, too.
fn is_final(refusal: &io::Error) -> bool {
    refusal.kind() == io::ErrorKind::PermissionDenied
        || refusal.raw_os_error() == Some(libc::ENODEV)
}

/// Index of the loopback interface in every network namespace.
const LOOPBACK: u32 = 1;

/// Whether tc filters outlive the process that attached them: this kernel has no tcx (Linux 6.6).
pub fn filters_outlive_process() -> bool {
    let programs = tcx_programs(LOOPBACK, TcHook::Egress);
    programs.is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
}

/// Removes the tc filters that killed counts left on the interfaces of this namespace. Filters of running
/// counts stay.
///
/// # Errors
/// The interfaces cannot be listed. An interface that disappears meanwhile is no error.
/// # Privileges
/// `CAP_NET_ADMIN`.
pub fn remove_leftover_filters() -> Result<(), NetlinkError> {
    for link in Netlink::open()?.list(&Link::new())?.items {
        // An interface may disappear meanwhile.
        let _ = TcLink::remove_leftovers(link.ifindex().0);
    }
    Ok(())
}
