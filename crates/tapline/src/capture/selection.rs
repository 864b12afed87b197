//! The filter of an interface, as an XDP program begins with it.

use bpf::{FilterMaps, Insn, Intake, MapError, Mirror, Redirect};
use filter::At;
use filter::ebpf::{Fragment, prologue};
use ring::Link;

use super::error::CaptureError;
use super::filter::FilterPlace;
use super::wanted::Wanted;

/// Name of the maps with a filter's sets.
const SETS: &str = "tapline_filter";

const _: () = assert!(Fragment::ACCEPT.0 == Redirect::TAKE.0);
const _: () = assert!(Fragment::REJECT.0 == Redirect::OTHERS.0);
const _: () = assert!(Fragment::ACCEPT.0 == Mirror::TAKE.0);
const _: () = assert!(Fragment::REJECT.0 == Mirror::OTHERS.0);
const _: () = assert!(Fragment::ACCEPT.0 == Intake::TAKE.0);
const _: () = assert!(Fragment::REJECT.0 == Intake::OTHERS.0);

/// Which packets of an interface an XDP program is to choose.
pub(super) struct Selection {
    /// Code for packets of a link type; without it all are chosen.
    filter: Option<(u16, Fragment)>,
}

impl Selection {
    /// The code for what is wanted of packets of `link`. A classic program never comes here.
    pub fn of(link: &str, wanted: &Wanted) -> Result<Self, CaptureError> {
        let filter = match wanted {
            Wanted::Everything | Wanted::Program(_) => None,
            Wanted::Filter(link_type, filter) => {
                let code = filter.ebpf().map_err(|error| CaptureError::Filter {
                    link: link.to_owned(),
                    link_type: filter.options().link,
                    error,
                })?;
                Some((*link_type, code))
            }
        };
        Ok(Self { filter })
    }

    /// Where the filter runs, if there is one.
    pub fn place(&self) -> Option<FilterPlace> {
        self.filter.as_ref().map(|_| FilterPlace::Kernel)
    }

    /// Refuses an interface for whose packets the filter was not made.
    pub fn check(&self, link: &Link) -> Result<(), CaptureError> {
        match &self.filter {
            Some((link_type, _)) if *link_type != link.link_type => {
                let link = link.name.clone();
                Err(CaptureError::LinkReplaced { link })
            }
            _ => Ok(()),
        }
    }

    /// Makes the filter's sets and has `load` load a program that begins with the code; `refused` is the
    /// error of a set that was not made.
    pub fn load<T, E>(
        &self,
        refused: impl FnOnce(MapError) -> E,
        load: impl FnOnce(&[Insn<'_>]) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some((_, code)) = &self.filter else {
            return load(&[]);
        };
        let maps = FilterMaps::create(SETS, code).map_err(refused)?;
        // At XDP a prologue needs no labels.
        let mut select = prologue(At::Xdp, code.direct_bytes, [Redirect::TAKE; 2]);
        let resolved = maps.resolve(&code.code);
        select.extend(resolved.expect("the maps are those of this code"));
        load(&select)
    }
}
