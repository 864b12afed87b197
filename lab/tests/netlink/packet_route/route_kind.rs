//! What a route has around its packets, and its ways.

use super::compare::{Told, take};
use super::rows::Rows;

pub fn fix(told: Told, ours: &mut Rows, theirs: &mut Rows) {
    // The kernel reports the remaining lifetime of an IPv6 route in hundredths of a second, in the cache information.
    if told == Told::ByKernel {
        let left = take(theirs, "cacheinfo.expires").filter(|left| left != &["0"]);
        if let Some(left) = left {
            let left: u64 = left[0].parse().expect("a number");
            theirs.insert("expires".to_owned(), vec![(left / 100).to_string()]);
        }
    }
    for key in [
        "encap.ip.flags.routeiptunnelflags",
        "encap.ip6.flags.routeip6tunnelflags",
    ] {
        if let Some(flags) = take(theirs, key) {
            let flags = flags
                .iter()
                .map(|flags| if flags == "0x0" { "0" } else { flags });
            theirs.insert("encap.flags".to_owned(), flags.map(str::to_owned).collect());
        }
    }
    // The metrics that are locked are bits.
    if let (Some(lock), Some(ours)) = (take(theirs, "metrics.lock"), ours.get("metrics.lock")) {
        let lock: u32 = lock[0].parse().expect("a number");
        let names = [(2, "mtu"), (13, "rto_min"), (10, "hoplimit"), (3, "window")];
        let set = names.iter().filter(|(bit, _)| lock & 1 << bit != 0);
        let set: Vec<String> = set.map(|(_, name)| (*name).to_owned()).collect();
        assert_eq!(set.len() as u32, lock.count_ones());
        assert_eq!(&set, ours);
        theirs.insert("metrics.lock".to_owned(), set);
    }
}
