//! Changes of each frame before it is sent.

use tapline::packet::MacAddress;

use crate::args::SendArgs;

/// What to change.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    destination: Option<MacAddress>,
    source: Option<MacAddress>,
    vlan: Option<u16>,
}

impl Edit {
    /// `None` if nothing is changed.
    pub fn new(args: &SendArgs) -> Option<Self> {
        let edit = Self {
            destination: args.dst_mac,
            source: args.src_mac,
            vlan: args.vlan,
        };
        let has_any = edit.destination.is_some() || edit.source.is_some() || edit.vlan.is_some();
        has_any.then_some(edit)
    }

    /// Changes an Ethernet frame. One that is shorter than two addresses stays as it is.
    pub fn apply(&self, frame: &mut Vec<u8>) {
        let Some(addresses) = frame.first_chunk_mut::<12>() else {
            return;
        };
        if let Some(destination) = self.destination {
            addresses[..6].copy_from_slice(&destination.0);
        }
        if let Some(source) = self.source {
            addresses[6..].copy_from_slice(&source.0);
        }
        if let Some(id) = self.vlan {
            let [high, low] = id.to_be_bytes();
            frame.splice(12..12, [0x81, 0x00, high, low]);
        }
    }
}
