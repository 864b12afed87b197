//! The filter of an interface as the first part of an XDP program.

use bpf::{FilterMaps, Insn, MapError, PacketSelection};
use filter::FilterTarget;
use filter::ebpf::{Fragment, prologue};
use netlink::Netlink;
use ring::InterfaceInfo;

use super::super::error::CaptureError;
use super::backend::FilterPlace;
use super::error::PlanError;
use super::interface_plan::InterfacePlan;
use super::options::{CaptureOptions, Required, check_mode};

/// Name of the maps that hold the sets of a filter.
const SETS: &str = "tapline_filter";

// The filter jumps to labels of the program behind it.
const _: () = assert!(Fragment::ACCEPT.0 == PacketSelection::MATCH.0);
const _: () = assert!(Fragment::REJECT.0 == PacketSelection::NO_MATCH.0);

/// The packets of an interface that an XDP program selects.
pub struct XdpSelection {
    /// Code for packets of a link type; `None` selects all packets.
    filter: Option<(u16, Fragment)>,
    required: Required,
}

impl XdpSelection {
    /// Compiles `plan` for XDP. `check_mode` has rejected classic programs before. The interface must have what is `required`.
    pub fn new(link: &str, plan: &InterfacePlan, required: Required) -> Result<Self, PlanError> {
        let filter = match plan {
            InterfacePlan::Everything | InterfacePlan::Program(_) => None,
            InterfacePlan::Filter(link_type, filter) => {
                let code = filter.ebpf().map_err(|error| PlanError::Filter {
                    link: link.to_owned(),
                    link_type: filter.options().link,
                    error,
                })?;
                Some((*link_type, code))
            }
        };
        Ok(Self { filter, required })
    }

    /// Where the filter runs; `None` without one.
    pub fn place(&self) -> Option<FilterPlace> {
        self.filter.as_ref().map(|_| FilterPlace::Kernel)
    }

    /// Rejects an interface of another link type than the filter was compiled for or the capture requires, and one with
    /// too few rings. Call it before the program is attached: from then on it takes packets.
    pub fn check(&self, link: &InterfaceInfo, rings: usize) -> Result<(), PlanError> {
        let of_filter = self.filter.as_ref().map(|(link_type, _)| *link_type);
        let mut expected = of_filter.into_iter().chain(self.required.link_type);
        if expected.any(|link_type| link_type != link.link_type) {
            let link = link.name.clone();
            return Err(PlanError::LinkReplaced { link });
        }
        if rings < self.required.rings {
            return Err(PlanError::FewRings);
        }
        Ok(())
    }

    /// Creates the maps of the filter and calls `load` with the code that begins the program; `map_error`
    /// converts the error of a map.
    pub fn load<T, E>(
        &self,
        map_error: impl FnOnce(MapError) -> E,
        load: impl FnOnce(&[Insn<'_>]) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some((_, code)) = &self.filter else {
            return load(&[]);
        };
        let maps = FilterMaps::create(SETS, code).map_err(map_error)?;
        // At XDP a prologue needs no labels.
        let mut select = prologue(
            FilterTarget::Xdp,
            code.direct_bytes,
            [PacketSelection::MATCH; 2],
        );
        let resolved = maps.resolve(&code.code);
        select.extend(resolved.expect("the maps are those of this code"));
        load(&select)
    }
}

/// The packets that another filter, in `options`, selects on an interface that is captured.
pub fn reselect(
    link: &InterfaceInfo,
    options: &CaptureOptions,
) -> Result<XdpSelection, CaptureError> {
    check_mode(options)?;
    let plan = InterfacePlan::new(&link.name, options, &mut Netlink::open()?)?;
    let selection = XdpSelection::new(&link.name, &plan, Required::default())?;
    selection.check(link, usize::MAX)?;
    Ok(selection)
}
