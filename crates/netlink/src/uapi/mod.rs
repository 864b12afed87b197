//! Numbers of the kernel's netlink headers, a table for each subject; the test compiles the headers and
//! compares.

macro_rules! constants {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(pub(crate) const $name: $type = $value;)*
        #[cfg(test)]
        pub(super) const ALL: &[(&str, u64)] = &[$((stringify!($name), $value as u64)),*];
    };
}

mod addr;
mod bridge;
mod family;
mod generic;
mod link;
mod link_kind;
mod message;
mod neigh;
mod netns;
mod route;
mod stats;

pub(crate) use addr::*;
pub(crate) use bridge::*;
pub(crate) use family::*;
pub(crate) use generic::*;
pub(crate) use link::*;
pub(crate) use link_kind::*;
pub(crate) use message::*;
pub(crate) use neigh::*;
pub(crate) use netns::*;
pub(crate) use route::*;
pub(crate) use stats::*;

#[cfg(test)]
mod tests {
    use super::{
        addr, bridge, family, generic, link, link_kind, message, neigh, netns, route, stats,
    };
    use std::process::Command;

    const HEADERS: &str = "sys/socket.h net/if_arp.h linux/if.h linux/netlink.h linux/rtnetlink.h \
        linux/if_link.h linux/if_addr.h linux/neighbour.h linux/veth.h linux/genetlink.h \
        linux/ethtool_netlink.h linux/if_bridge.h linux/if_bonding.h linux/net_namespace.h";

    fn all() -> impl Iterator<Item = &'static (&'static str, u64)> {
        [
            addr::ALL,
            bridge::ALL,
            family::ALL,
            generic::ALL,
            link::ALL,
            link_kind::ALL,
            message::ALL,
            neigh::ALL,
            netns::ALL,
            route::ALL,
            stats::ALL,
        ]
        .into_iter()
        .flatten()
    }

    /// The oracle is the C compiler reading the system's kernel headers.
    #[test]
    fn every_number_is_that_of_the_headers() {
        let includes = HEADERS
            .split_whitespace()
            .map(|header| format!("#include <{header}>"));
        let prints = all()
            .map(|(name, _)| format!("printf(\"{name} %llu\\n\", (unsigned long long)({name}));"));
        let lines: Vec<_> = ["#include <stdio.h>".into()]
            .into_iter()
            .chain(includes)
            .chain(["int main(void) {".into()])
            .chain(prints)
            .chain(["}".into()])
            .collect();
        let source = lines.join("\n");
        let folder = tempfile::tempdir().expect("a folder for the program");
        let (program, text) = (
            folder.path().join("numbers"),
            folder.path().join("numbers.c"),
        );
        std::fs::write(&text, source).expect("the program's source");
        let status = Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(&text)
            .status();
        assert!(
            status
                .expect("a C compiler (Debian: gcc, libc6-dev)")
                .success()
        );
        let output = Command::new(&program)
            .output()
            .expect("the program runs")
            .stdout;
        let output = String::from_utf8(output).expect("text");
        let ours = all().map(|(name, value)| format!("{name} {value}"));
        assert_eq!(ours.collect::<Vec<_>>(), output.lines().collect::<Vec<_>>());
    }
}
