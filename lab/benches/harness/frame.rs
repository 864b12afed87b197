//! Frames of the traffic in benches.

use std::net::IpAddr;

use wire::build::Frame;
use wire::protocol::ip;
use wire::{MacAddress, TcpFields};

/// Length of TCP options with time stamps.
const TCP_OPTIONS: usize = 12;

/// Packets from one host to another. Protocols other than TCP and UDP give an echo request.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub protocol: u8,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ports: [u16; 2],
}

impl Flow {
    pub fn new(protocol: u8, ends: [impl Into<IpAddr>; 2], ports: [u16; 2]) -> Self {
        let [source, destination] = ends.map(Into::into);
        Self {
            protocol,
            source,
            destination,
            ports,
        }
    }

    /// A packet as an Ethernet frame of `bytes` bytes; the payload is zero.
    pub fn frame(&self, bytes: usize) -> Vec<u8> {
        self.frame_in(None, bytes)
    }

    /// Like [`Self::frame`], in a VLAN.
    pub fn frame_in(&self, vlan: Option<u16>, bytes: usize) -> Vec<u8> {
        let [near, far] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
        let frame = Frame::ethernet(near, far);
        let (frame, tag_bytes) = match vlan {
            Some(id) => (frame.vlan(id), 4),
            None => (frame, 0),
        };
        let (frame, ip_bytes) = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => (frame.ipv4(source, destination), 20),
            (IpAddr::V6(source), IpAddr::V6(destination)) => (frame.ipv6(source, destination), 40),
            _ => panic!("two families in {self:?}"),
        };
        let [source_port, destination_port] = self.ports;
        let (frame, transport_bytes) = match self.protocol {
            ip::TCP => {
                let fields = TcpFields {
                    source_port,
                    destination_port,
                    ..TcpFields::default()
                };
                (frame.tcp_with(fields, &[0; TCP_OPTIONS]), 20 + TCP_OPTIONS)
            }
            ip::UDP => (frame.udp(source_port, destination_port), 8),
            _ => (frame.echo_request(source_port, destination_port), 8),
        };
        let headers = 14 + tag_bytes + ip_bytes + transport_bytes;
        let mut frame = frame.payload(&vec![0; bytes.saturating_sub(headers)]);
        frame.truncate(bytes);
        frame
    }
}
