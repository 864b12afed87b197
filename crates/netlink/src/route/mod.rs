//! Routes: what they are, how they are spoken of, and where a packet would go.

mod encap;
mod flags;
mod gateway;
mod header;
mod hop;
mod key;
mod lookup;
mod metrics;
mod names;
mod object;
mod realms;
mod seg6;
mod show;
mod verbs;
mod words;

pub(crate) use encap::EncapCode;
pub use encap::{Encap, Ip6Encap, IpEncap, Labels, MplsEncap};
pub use flags::{RouteCacheFlags, RouteFeatures, RouteFlags, RouteLocks};
pub use gateway::Via;
pub use hop::Hop;
pub(crate) use hop::{read_gateway_words, show_gateway};
pub use key::RouteKey;
pub use lookup::RouteQuery;
pub use metrics::{Metrics, Milliseconds};
pub use names::{RoutePreference, RouteProtocol, RouteTable, RouteType};
pub use object::Route;
pub use realms::Realms;
pub use seg6::{Seg6Encap, Seg6Mode};
pub use show::Detail;
pub(crate) use verbs::put_ip;
