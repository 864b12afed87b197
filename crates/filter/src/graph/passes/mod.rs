//! The passes, in the order in which [`Filter::new`](crate::Filter::new) runs them.
//!
//! | pass | from → to | what it does |
//! |---|---|---|
//! | [`group_alternatives`] | condition → condition | groups alternatives that begin with the same test |
//! | [`lists_to_sets`] | condition → condition | turns lists of hosts, networks and ports into sets |
//! | [`jump_threading`] | graph → graph | skips tests whose outcome is known on a path ([`known_bits`]) |
//! | [`dead_variables`] | graph → graph | removes variables that nothing reads |
//!
//! Back ends run two more: [`expand_sets`] for classic BPF, which has no sets, and [`specialize`] for eBPF
//! code that runs only on packets of a known protocol.

pub(crate) mod dead_variables;
pub(crate) mod expand_sets;
pub(crate) mod group_alternatives;
pub(crate) mod jump_threading;
mod known_bits;
pub(crate) mod lists_to_sets;
pub(crate) mod specialize;
