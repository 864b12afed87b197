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
mod encap;
mod family;
mod generic;
mod link;
mod link_bond;
mod link_bridge;
mod link_kind;
mod link_tunnel;
mod message;
mod neigh;
mod netns;
mod stats;

pub(crate) use bridge::*;
mod newer;
mod nexthop;
mod route;
mod rule;

pub(crate) use addr::*;
pub(crate) use encap::*;
pub(crate) use family::*;
pub(crate) use generic::*;
pub(crate) use link::*;
pub(crate) use link_bond::*;
pub(crate) use link_bridge::*;
pub(crate) use link_kind::*;
pub(crate) use link_tunnel::*;
pub(crate) use message::*;
pub(crate) use neigh::*;
pub(crate) use netns::*;
pub(crate) use newer::*;
pub(crate) use nexthop::*;
pub(crate) use route::*;
pub(crate) use rule::*;
pub(crate) use stats::*;

#[cfg(test)]
mod tests {
    use super::{
        addr, bridge, encap, family, generic, link, link_bond, link_bridge, link_kind, link_tunnel,
        message, neigh, netns, nexthop, route, rule, stats,
    };
    use std::process::Command;

    const HEADERS: &str = "sys/socket.h net/if_arp.h linux/if.h linux/netlink.h linux/rtnetlink.h \
        linux/if_link.h linux/if_tunnel.h linux/if_addr.h linux/neighbour.h linux/veth.h linux/genetlink.h \
        linux/ethtool_netlink.h linux/fib_rules.h linux/nexthop.h linux/lwtunnel.h linux/seg6_iptunnel.h \
        linux/mpls_iptunnel.h linux/if_bridge.h linux/if_bonding.h linux/net_namespace.h \
        linux/in_route.h";

    fn all() -> impl Iterator<Item = &'static (&'static str, u64)> {
        [
            addr::ALL,
            bridge::ALL,
            encap::ALL,
            family::ALL,
            generic::ALL,
            link::ALL,
            link_bond::ALL,
            link_bridge::ALL,
            link_kind::ALL,
            link_tunnel::ALL,
            message::ALL,
            neigh::ALL,
            netns::ALL,
            stats::ALL,
            nexthop::ALL,
            route::ALL,
            rule::ALL,
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
