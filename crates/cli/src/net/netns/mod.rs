//! Network namespaces, in the words of ip-netns(8).

mod number;
mod run;

pub use run::run;
