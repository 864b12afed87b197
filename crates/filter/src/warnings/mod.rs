//! Warnings about tunnel and tag words that change the meaning of a filter unexpectedly.
//!
//! After `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan`, all terms to the right are evaluated after
//! the tag or inside the tunnel. Only the position in the text counts, even across `or`,
//! parentheses and `not`. In `vlan or ip` the word `ip` reads an EtherType four bytes later, also
//! in packets without a tag.
//!
//! A warning is reported if a term to the right of such a word
//!
//! - is evaluated for packets for which the word is false or unknown, that is, the two are not
//!   simply joined by `and`, with the word first; and
//! - reads other bytes than it would without the word.
//!
//! So there is no warning for `vlan and (ip or arp)`, `vlan 7 and mpls and ip`, `not (vlan and
//! ip)`, `vlan or less 100` and `ip or vlan`.

mod analysis;
mod data_flow;
pub(crate) mod warning;
