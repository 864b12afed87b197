//! tc hooks.

use std::fmt;

use abi::bpf::{BPF_TCX_EGRESS, BPF_TCX_INGRESS};

/// The hook of a tc program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcHook {
    /// Received packets, before the network stack. The kernel has already moved the VLAN tag into the metadata.
    Ingress,
    /// Sent packets, before the queueing discipline. Packets may be larger than on the wire (GSO).
    Egress,
}

impl TcHook {
    /// Attach type of a tcx link (`enum bpf_attach_type`).
    pub(super) fn attach_type(self) -> u32 {
        match self {
            Self::Ingress => BPF_TCX_INGRESS,
            Self::Egress => BPF_TCX_EGRESS,
        }
    }

    /// Parent of a clsact filter: `TC_H_MIN_INGRESS` or `TC_H_MIN_EGRESS` of the queueing discipline.
    pub(super) fn parent(self) -> u32 {
        match self {
            Self::Ingress => 0xffff_fff2,
            Self::Egress => 0xffff_fff3,
        }
    }
}

impl fmt::Display for TcHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        })
    }
}
