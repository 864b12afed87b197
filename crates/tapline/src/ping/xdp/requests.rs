//! The frames of requests, without what the programs write.

use std::fs;
use std::net::IpAddr;

use netlink::MacAddress;
use wire::build::Frame;
use wire::{Ipv4Fields, Ipv6Fields};

use crate::ping::options::PingOptions;

/// Least length of an Ethernet frame without its checksum.
const MIN_FRAME_BYTES: usize = 60;

/// The request with source address `source`; `payload` begins with room for the cookie.
pub(super) fn request(
    mac: MacAddress,
    source: IpAddr,
    identifier: u16,
    payload: &[u8],
    options: &PingOptions,
) -> Vec<u8> {
    let mac = wire::MacAddress(mac.0);
    let frame = Frame::ethernet(mac, mac);
    let (dscp, ecn) = (options.tos >> 2, options.tos & 3);
    let packet = match source {
        IpAddr::V4(source) => {
            let mut fields = Ipv4Fields::new(source, source);
            fields.ttl = options.ttl.unwrap_or_else(|| hops("ipv4/ip_default_ttl"));
            (fields.dscp, fields.ecn) = (dscp, ecn);
            fields.dont_fragment = true;
            frame.ipv4_with(fields)
        }
        IpAddr::V6(source) => {
            let mut fields = Ipv6Fields::new(source, source);
            fields.hop_limit = options
                .ttl
                .unwrap_or_else(|| hops("ipv6/conf/all/hop_limit"));
            fields.traffic_class = options.tos;
            frame.ipv6_with(fields, &[])
        }
    };
    let mut frame = packet.echo_request(identifier, 0).payload(payload);
    frame.resize(frame.len().max(MIN_FRAME_BYTES), 0);
    frame
}

/// The sysctl `net/NAME` as a number of hops.
fn hops(name: &str) -> u8 {
    let text = fs::read_to_string(format!("/proc/sys/net/{name}"));
    let number = text.ok().and_then(|text| text.trim().parse().ok());
    number.unwrap_or(64)
}
