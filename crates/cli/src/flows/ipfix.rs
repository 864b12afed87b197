//! Sends flows to a collector, as IPFIX over UDP or TCP.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use tapline::flows::{Flow, IpfixEncoder};

use crate::failure::{Exit, Failure};

/// The port of IPFIX.
const PORT: u16 = 4739;

/// Tells these records from those of other measurements at the collector, which also knows this host and its port.
const DOMAIN: u32 = 1;

/// Fits into a frame with the headers of IPv6 and UDP, also through a tunnel.
const MESSAGE_BYTES: usize = 1400;

/// How often a collector of datagrams gets the templates again, which it may have lost or been started after.
const TEMPLATES: Duration = Duration::from_mins(1);

/// How long a collector may take to accept a connection or data.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where to send flows.
#[derive(Clone, Debug)]
pub struct CollectorAddress {
    is_tcp: bool,
    host: String,
}

/// Parses `[udp:|tcp:]HOST[:PORT]`.
pub fn collector(text: &str) -> Result<CollectorAddress, String> {
    let (is_tcp, host) = match (text.strip_prefix("tcp:"), text.strip_prefix("udp:")) {
        (Some(host), _) => (true, host),
        (_, host) => (false, host.unwrap_or(text)),
    };
    if host.is_empty() {
        return Err("use HOST:PORT, udp:HOST:PORT or tcp:HOST:PORT".into());
    }
    let host = host.to_owned();
    Ok(CollectorAddress { is_tcp, host })
}

impl CollectorAddress {
    fn resolve(&self) -> io::Result<SocketAddr> {
        let host = &self.host;
        let has_port = host.parse::<SocketAddr>().is_ok()
            || host
                .rsplit_once(':')
                .is_some_and(|(name, port)| !name.contains(':') && port.parse::<u16>().is_ok());
        let mut addresses = if has_port {
            host.to_socket_addrs()?
        } else {
            (host.trim_matches(['[', ']']), PORT).to_socket_addrs()?
        };
        let none = || io::Error::new(ErrorKind::NotFound, "it has no address");
        addresses.next().ok_or_else(none)
    }
}

enum Socket {
    Udp(UdpSocket),
    Tcp(TcpStream),
}

/// A collector, and what it was sent.
pub struct Collector {
    name: String,
    socket: Socket,
    encoder: IpfixEncoder,
    templates_at: Option<Instant>,
    pub sent: Sent,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub flows: u64,
    pub messages: u64,
    /// Flows in datagrams that could not be sent or were refused.
    pub failed_flows: u64,
}

impl Collector {
    /// Connects to it.
    pub fn open(to: &CollectorAddress) -> Result<Self, Failure> {
        let kind = if to.is_tcp { "tcp" } else { "udp" };
        let name = format!("{kind}:{}", to.host);
        let opened = to.resolve().and_then(|address| {
            if to.is_tcp {
                let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                return Ok(Socket::Tcp(stream));
            }
            let any = if address.is_ipv4() {
                "0.0.0.0:0"
            } else {
                "[::]:0"
            };
            let socket = UdpSocket::bind(any)?;
            socket.connect(address)?;
            Ok(Socket::Udp(socket))
        });
        let socket = opened.map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::ConnectionRefused => " (does the collector listen there?)",
                _ => "",
            };
            let failure = Failure::job_on(format!("cannot send flows to {name}"), &error);
            Failure::new(Exit::Failed, failure.line + hint)
        })?;
        Ok(Self {
            name,
            socket,
            encoder: IpfixEncoder::new(DOMAIN, MESSAGE_BYTES),
            templates_at: None,
            sent: Sent::default(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a flow, and sends a message if it is full.
    pub fn add(&mut self, flow: &Flow) -> io::Result<()> {
        if self.encoder.add(flow) {
            self.flush()?;
        }
        Ok(())
    /// Sets the kernel's index of each interface, in the order of their numbers in flows.
    pub fn set_if_indexes(&mut self, if_indexes: Vec<u32>) {
        self.encoder.set_if_indexes(if_indexes);
    }

    }

    /// Sends what there is.
    ///
    /// Fails if a connection does. Datagrams that do not arrive are no failure; those that are refused are counted.
    pub fn flush(&mut self) -> io::Result<()> {
        let flows = u64::from(self.encoder.records());
        if flows == 0 {
            return Ok(());
        }
        let is_due = match (&self.socket, self.templates_at) {
            (_, None) => true,
            (Socket::Udp(_), Some(at)) => at.elapsed() >= TEMPLATES,
            (Socket::Tcp(_), Some(_)) => false,
        };
        let export_s = crate::moment::now_ns() / 1_000_000_000;
        let message = self.encoder.take(export_s as u32, is_due);
        let sent = match &mut self.socket {
            Socket::Tcp(stream) => {
                let written = stream.write_all(&message);
                written.map_err(|error| {
                    io::Error::other(format!("cannot send flows to {}: {error}", self.name))
                })?;
                true
            }
            // A refusal is about the datagram before this one, which is sent all the same then.
            Socket::Udp(socket) => socket.send(&message).is_ok(),
        };
        if sent {
            self.sent.flows += flows;
            self.sent.messages += 1;
            if is_due {
                self.templates_at = Some(Instant::now());
            }
        } else {
            self.sent.failed_flows += flows;
        }
        Ok(())
    }
}
