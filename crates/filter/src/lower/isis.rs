use super::lowering::{Lowered, Lowering, Place, at_most};
use super::numbers::{NLPID_ISIS, SAP_ISO};
use crate::LinkType;
use crate::graph::condition::Condition;
use crate::graph::values::Width;

impl Lowering<'_> {
    /// A protocol of ISO, by its network layer protocol identifier.
    pub(super) fn iso(&mut self, number: u32) -> Lowered {
        at_most("ISO protocol", number, 255)?;
        let is_iso = self.link_protocol(SAP_ISO)?;
        let offset = u32::from(self.frame.link == LinkType::CiscoHdlc);
        let field = self.equal(Place::NetworkNoSnap, offset, Width::Byte, number)?;
        Ok(Condition::all([is_iso, field]))
    }

    /// An IS-IS packet of one of `types`.
    pub(super) fn isis(&mut self, types: &[u32]) -> Lowered {
        let is_isis = self.iso(NLPID_ISIS)?;
        let is_hdlc = self.frame.link == LinkType::CiscoHdlc;
        let offset = if is_hdlc { 5 } else { 4 };
        let tests: Result<Vec<_>, _> = types
            .iter()
            .map(|&kind| self.masked(Place::NetworkNoSnap, offset, Width::Byte, 0x1f, kind))
            .collect();
        Ok(Condition::all([is_isis, Condition::any(tests?)]))
    }
}
