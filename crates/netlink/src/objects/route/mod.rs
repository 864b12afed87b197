//! Routes and route lookups.

mod encap;
mod hop;
mod lookup;
mod metrics;
mod object;
mod show;
mod values;
mod words;

pub(crate) use encap::EncapCode;
pub use encap::{Encap, EncapTos, Ip6Encap, IpEncap, Labels, MplsEncap, Seg6Encap, Seg6Mode};
pub use hop::{Hop, Realms, Via};
pub(crate) use hop::{read_gateway_words, show_gateway};
pub use lookup::RouteQuery;
pub use metrics::{Metrics, Milliseconds};
pub(crate) use object::put_ip;
pub use object::{Route, RouteKey};
pub use show::Detail;
pub use values::{
    RouteCacheFlags, RouteFeatures, RouteFlags, RouteLocks, RoutePreference, RouteProtocol,
    RouteTable, RouteType,
};
