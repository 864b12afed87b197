//! Links of every kind: made by us and by iproute2 they are the same, to iproute2 and to us; the words of
//! its command line mean to us what they mean to it; its JSON is ours.

#[path = "../ip_json/mod.rs"]
mod ip_json;

mod bond;
mod bridge;
mod compare;
mod phases;
mod refusals;
mod stacked;
mod tunnels;

use tapline_lab::uml;

/// Whether the test has been run under user-mode-linux, as it has on any machine but that.
#[track_caller]
fn has_run() -> bool {
    uml::has_run(&uml::LINK_MODULES)
}
