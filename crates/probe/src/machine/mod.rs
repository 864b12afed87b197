//! The state machine, and what it is made of. Nothing here has a socket, a clock or a random source.

mod buckets;
mod clock;
mod cookie;
mod expiry;
mod gate;
mod histogram;
mod limits;
mod matching;
mod message;
mod network_error;
mod permutation;
mod plan;
mod probe;
mod prober;
mod record;
mod schedule;
mod tally;
mod verdict;
mod window;

pub use clock::{Look, WallClock};
pub use cookie::{COOKIE_BYTES, Key};
pub use histogram::Histogram;
pub use message::{ErrorMessage, Message, Quote, Reply};
pub use network_error::{MAX_ERROR_KINDS, NetworkError, NetworkErrors};
pub use permutation::Permutation;
pub use plan::{Forecast, MAX_NS, MAX_PAYLOAD_BYTES, NeighbourPace, Plan, PlanError};
pub use probe::Probe;
pub use prober::{Drop, Prober, Step};
pub use tally::{Counts, Rtt};
pub use verdict::{Others, Verdict};
