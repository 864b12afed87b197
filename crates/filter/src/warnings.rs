//! The trap of the words for tunnels and tags, told where a filter falls into it.
//!
//! `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` say that what is to their right is behind the tag
//! or inside of the tunnel. They say so by place in the text, not by sense: also across `or`, out of
//! parentheses and out of `not`. In `vlan or ip` the word `ip` asks for an EtherType four bytes
//! further back, of packets that have no tag.
//!
//! A warning is due where a term to the right of such a word
//!
//! - is asked of packets for which the word does not hold, or is not known to: the two are not
//!   simply joined by `and`, with the word in front; and
//! - asks for other bytes than it would without the word.
//!
//! So `vlan and (ip or arp)`, `vlan 7 and mpls and ip` and `not (vlan and ip)` need none, nor do
//! `vlan or less 100` and `ip or vlan`.

mod explicit;
mod flow;
mod walk;
mod warning;

pub use warning::Warning;
