//! What is counted and measured, per target and for the whole run.

mod answers;
mod histogram;
mod kernel_counted;
mod network_errors;
mod run;
mod target;
mod window;

pub use answers::{CountedAnswers, IcmpErrorKind};
pub use histogram::Histogram;
pub(crate) use histogram::{target_buckets, target_quantile};
pub use kernel_counted::AnswerCounters;
pub(crate) use kernel_counted::KernelCountedTargets;
pub use network_errors::{MAX_ERROR_KINDS, NetworkError, NetworkErrors};
pub(crate) use run::{AnswerOrder, RunStatistics};
pub use target::{ProbeCounts, RttStatistics};
pub(crate) use window::ProbeEnd;
