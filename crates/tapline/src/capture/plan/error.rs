//! Why a capture cannot be planned.

use filter::{FilterError, LinkType};
use netlink::NetlinkError;
use ring::RingOpenError;

/// Why the filter of an interface cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("filter for {link} is invalid")]
    Filter {
        link: String,
        link_type: LinkType,
        #[source]
        error: FilterError,
    },
    #[error("interface {link} was replaced by another")]
    LinkReplaced { link: String },
    #[error("the interface has fewer rings than the capture has readers")]
    FewRings,
    #[error(transparent)]
    Ring(#[from] RingOpenError),
    #[error(transparent)]
    Link(#[from] NetlinkError),
}
