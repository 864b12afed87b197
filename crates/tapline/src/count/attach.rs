//! Which hook runs the program at a place.

use std::io;
use std::sync::Arc;

use bpf::count::CountingPlace;
use bpf::{TcLink, TcPlace, XdpAttachError, XdpLink, XdpMode, XdpPlace};
use filter::At;

use super::classes::Counted;
use super::error::CountError;
use super::groups::GroupTable;
use super::key::Key;
use super::lane::{Attachment, Chosen, Lane, Prepared, idle};
use super::options::{Ingress, Options};
use super::place::{Hook, Place, Reason, Way};
use super::target::Target;

/// What all places of a count share.
pub(super) struct Plan<'a> {
    pub options: &'a Options,
    pub classes: &'a [Counted],
    pub slots: u32,
    pub groups: Option<&'a GroupTable>,
}

impl Plan<'_> {
    /// Puts an idle program where packets are to be counted; the counting one is loaded.
    pub fn attach(&self, target: Target, way: Way) -> Result<Lane, CountError> {
        match (way, self.options.ingress) {
            (Way::Out, _) | (Way::In, Ingress::Tc) => self.at_tc(target, way, None),
            (Way::In, Ingress::Xdp(place)) => {
                let prepared = self.prepare(&target, At::Xdp)?;
                let attached = self.at_xdp(target, prepared, place)?;
                attached.map_err(|(target, error)| CountError::Xdp {
                    link: target.link,
                    error,
                })
            }
            (Way::In, Ingress::Auto) => {
                if !target.is_ethernet() {
                    return self.at_tc(target, way, Some(Reason::NotEthernet));
                }
                let prepared = match self.prepare(&target, At::Xdp) {
                    // What groups ask for, tc has had for longer (`bpf_xdp_load_bytes`: Linux 5.18).
                    Err(CountError::Load { error, .. }) => {
                        let reason = Reason::ProgramRefused(Arc::new(error));
                        return self.at_tc(target, way, Some(reason));
                    }
                    prepared => prepared?,
                };
                let strips_tags = target.strips_tags;
                if strips_tags && self.needs_tags(&prepared) {
                    return self.at_tc(target, way, Some(Reason::VlanStripped));
                }
                match self.at_xdp(target, prepared, XdpPlace::Native)? {
                    Ok(lane) => Ok(Lane {
                        hides_tags: strips_tags,
                        ..lane
                    }),
                    Err((target, error)) if is_final(&error.source) => Err(CountError::Xdp {
                        link: target.link,
                        error,
                    }),
                    Err((target, error)) => {
                        let reason = Reason::XdpRefused(Arc::from(error));
                        self.at_tc(target, way, Some(reason))
                    }
                }
            }
        }
    }

    fn needs_tags(&self, prepared: &Prepared) -> bool {
        let mut chosen = prepared.chosen.iter();
        self.options.by == Some(Key::Vlan) || chosen.any(Chosen::looks_at_tags)
    }

    fn prepare(&self, target: &Target, at: At) -> Result<Prepared, CountError> {
        let counting = CountingPlace::new(at, target.link_type);
        let layer = self.options.layer;
        Prepared::new(
            target,
            counting,
            layer,
            self.classes,
            self.slots,
            self.groups,
        )
    }

    fn at_xdp(
        &self,
        target: Target,
        prepared: Prepared,
        place: XdpPlace,
    ) -> Result<Result<Lane, (Target, Box<XdpAttachError>)>, CountError> {
        let link = match XdpLink::attach(&idle(&target, &prepared)?, target.index, place) {
            Ok(link) => link,
            Err(error) => return Ok(Err((target, Box::new(error)))),
        };
        let hook = match link.mode() {
            XdpMode::Native => Hook::XdpNative,
            XdpMode::Generic => Hook::XdpGeneric,
        };
        let refusal = link.native_refusal().cloned();
        let reason = refusal.map(Reason::XdpRefused);
        let attachment = Attachment::Xdp(link);
        Ok(Ok(self.lane(
            target,
            prepared,
            attachment,
            Way::In,
            hook,
            reason,
        )))
    }

    fn at_tc(&self, target: Target, way: Way, reason: Option<Reason>) -> Result<Lane, CountError> {
        let (at, place) = match way {
            Way::In => (At::TcIngress, TcPlace::Ingress),
            Way::Out => (At::TcEgress, TcPlace::Egress),
        };
        let prepared = self.prepare(&target, at)?;
        let link = TcLink::attach_first(&idle(&target, &prepared)?, target.index, place);
        let link = link.map_err(|error| CountError::Tc {
            link: target.link.clone(),
            error,
        })?;
        let hook = if link.is_clsact() {
            Hook::Clsact
        } else {
            Hook::Tcx
        };
        let attachment = Attachment::Tc(link);
        Ok(self.lane(target, prepared, attachment, way, hook, reason))
    }

    fn lane(
        &self,
        target: Target,
        prepared: Prepared,
        attachment: Attachment,
        way: Way,
        hook: Hook,
        reason: Option<Reason>,
    ) -> Lane {
        Lane {
            place: Place {
                link: target.link.clone(),
                index: target.index,
                way,
                hook,
                reason,
            },
            target,
            layer: self.options.layer,
            prepared,
            attachment,
            hides_tags: false,
        }
    }
}

/// Whether another hook would be refused as well.
fn is_final(refusal: &io::Error) -> bool {
    const ENODEV: i32 = 19;
    refusal.kind() == io::ErrorKind::PermissionDenied || refusal.raw_os_error() == Some(ENODEV)
}
