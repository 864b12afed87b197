//! Sends flows to a collector, as IPFIX over UDP or TCP.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::num::{NonZeroU16, NonZeroU32};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tapline::flows::{EndReason, Flow, IpfixEncoder};

use super::connection::{self, Reconnector};
use crate::args::SandboxArgs;
use crate::failure::{Exit, Failure};
use crate::screen::printable;
use crate::values::units::counted;

/// The port of IPFIX.
const PORT: u16 = 4739;

/// Fits into a frame with the headers of IPv6 and UDP, also through a tunnel.
const MESSAGE_BYTES: usize = 1400;

/// Messages a second over UDP, at most, if no packets wait meanwhile: a collector's socket has room for about a hundred by default.
const USUAL_RATE: u32 = 1000;

/// How often a collector of datagrams gets the templates again, which it may have lost or been started after.
const TEMPLATES: Duration = Duration::from_mins(1);

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
    // An IPv6 address without brackets has several colons, and no port.
    let parts = host.rsplit_once(':');
    let parts = parts.filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
    let is_wrong =
        |(name, port): (&str, &str)| name.is_empty() || port.parse::<NonZeroU16>().is_err();
    if host.is_empty() || parts.is_some_and(is_wrong) {
        return Err("use HOST:PORT, udp:HOST:PORT or tcp:HOST:PORT".into());
    }
    let host = host.to_owned();
    Ok(CollectorAddress { is_tcp, host })
}

impl CollectorAddress {
    fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let host = &self.host;
        let has_port = host.parse::<SocketAddr>().is_ok()
            || host
                .rsplit_once(':')
                .is_some_and(|(name, port)| !name.contains(':') && port.parse::<u16>().is_ok());
        let addresses = if has_port {
            host.to_socket_addrs()?
        } else {
            (host.trim_matches(['[', ']']), PORT).to_socket_addrs()?
        };
        Ok(addresses.collect())
    }

    /// Connects to the first of its addresses that accepts.
    fn connect(&self) -> io::Result<Socket> {
        let mut last = io::Error::new(ErrorKind::NotFound, "it has no address");
        for address in self.resolve()? {
            let connected = if self.is_tcp {
                connection::connect(address).map(Socket::Tcp)
            } else {
                connect_udp(address).map(Socket::Udp)
            };
            match connected {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn connect_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let any = if address.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(address)?;
    Ok(socket)
}

enum Socket {
    Udp(UdpSocket),
    Tcp(TcpStream),
    /// The connection has failed, for this reason, and is made again.
    Lost(io::Error),
}

/// Messages a second over UDP, at most; 0 is without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// While the job runs.
    running: u32,
    /// Of the flows that are left when it ends.
    rest: u32,
}

impl Rates {
    /// For flows of files, of which `asked` is what the user asked for.
    pub fn of_files(asked: Option<u32>) -> Self {
        let rest = asked.unwrap_or(USUAL_RATE);
        Self {
            running: rest,
            rest,
        }
    }

    /// For those of a capture: while it runs, packets would wait, too.
    pub fn of_capture(asked: Option<u32>) -> Self {
        Self {
            running: asked.unwrap_or(0),
            ..Self::of_files(asked)
        }
    }
}

/// The time between datagrams, at least. Over UDP, a sender does not notice that its receiver is slower.
struct Pace {
    interval: Duration,
    /// When the next one may be sent.
    next: Instant,
}

impl Pace {
    /// `rate` a second; 0 is without a limit.
    fn new(rate: u32) -> Self {
        let interval = Duration::from_secs(1).checked_div(rate);
        Self {
            interval: interval.unwrap_or_default(),
            next: Instant::now(),
        }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        let left = self.next.saturating_duration_since(now);
        if let (false, Ok(left)) = (left.is_zero(), Timespec::try_from(left)) {
            // Waits for nothing but the time. A signal may make it shorter.
            let _ = poll(&mut [], Some(&left));
        }
        self.next = self.next.max(now) + self.interval;
    }
}

/// A collector, and what it was sent.
pub struct Collector {
    name: String,
    socket: Socket,
    pace: Pace,
    /// The rate for the flows that are left at the end. `None` once the first of them has come.
    rest: Option<u32>,
    domain: NonZeroU32,
    encoder: IpfixEncoder,
    templates_at: Option<Instant>,
    /// Flows in the last datagram, which may be refused later.
    last_flows: u64,
    /// Makes a connection again. Without it, a failed connection ends the sending.
    reconnector: Option<Reconnector>,
    pub sent: Sent,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub flows: u64,
    pub messages: u64,
    /// Flows in messages that could not be sent, in datagrams that are known to have been refused, and while there is no
    /// connection.
    pub failed_flows: u64,
}

impl Collector {
    /// Connects to it.
    ///
    /// Without an observation domain, messages have a random one: collectors such as nfcapd know a process that
    /// exports by its host and its domain, and would count two on one host as one that loses messages.
    pub fn open(
        to: &CollectorAddress,
        domain: Option<NonZeroU32>,
        rates: Rates,
    ) -> Result<Self, Failure> {
        let kind = if to.is_tcp { "tcp" } else { "udp" };
        let name = format!("{kind}:{}", to.host);
        let socket = to.connect().map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::ConnectionRefused => " (does the collector listen there?)",
                _ => "",
            };
            let failure = Failure::job_on(format!("cannot send flows to {name}"), &error);
            Failure::new(Exit::Failed, failure.line + hint)
        })?;
        let domain = domain.unwrap_or_else(random_domain);
        Ok(Self {
            name,
            socket,
            pace: Pace::new(rates.running),
            rest: Some(rates.rest),
            domain,
            encoder: IpfixEncoder::new(domain.get(), MESSAGE_BYTES),
            templates_at: None,
            last_flows: 0,
            reconnector: None,
            sent: Sent::default(),
        })
    }

    /// Makes a connection that fails from now on again, to the same address. Does nothing for UDP.
    pub fn reconnect(&mut self, args: SandboxArgs) -> Result<(), Failure> {
        if let Socket::Tcp(stream) = &self.socket {
            let address = stream.peer_addr();
            let address = address.map_err(|error| {
                Failure::job_on(format!("cannot send flows to {}", self.name), &error)
            })?;
            self.reconnector = Some(Reconnector::start(address, args)?);
        }
        Ok(())
    }

    /// Sets the kernel's index of each interface, in the order of their numbers in flows.
    pub fn set_if_indexes(&mut self, if_indexes: Vec<u32>) {
        self.encoder.set_if_indexes(if_indexes);
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The observation domain of its messages.
    pub fn domain(&self) -> NonZeroU32 {
        self.domain
    }

    /// Adds a flow, and sends a message if it is full.
    pub fn add(&mut self, flow: &Flow) -> io::Result<()> {
        if flow.end == EndReason::End
            && let Some(rate) = self.rest.take()
        {
            self.pace = Pace::new(rate);
        }
        if self.encoder.add(flow) {
            self.check_connection();
            self.send()?;
        }
        Ok(())
    }

    /// Sends what there is. While a lost connection is made again, flows wait until a message is full.
    ///
    /// Fails if a connection fails that is not made again. Datagrams that do not arrive are no failure; those that are refused are
    /// counted.
    pub fn flush(&mut self) -> io::Result<()> {
        self.check_connection();
        if matches!(self.socket, Socket::Lost(_)) {
            return Ok(());
        }
        self.send()
    }

    /// Notices that a connection has failed before flows are sent over it, and takes the next one once it is there.
    fn check_connection(&mut self) {
        let Some(reconnector) = &self.reconnector else {
            return;
        };
        if let Socket::Tcp(stream) = &self.socket
            && let Err(error) = connection::check_open(stream)
        {
            self.lose(error);
        } else if let Socket::Lost(_) = &self.socket
            && let Some(stream) = reconnector.connected()
        {
            self.socket = Socket::Tcp(stream);
            // Another connection is another stream of messages for the collector.
            self.encoder.restart();
            let failed = counted(self.sent.failed_flows, "flow");
            say(&format!(
                "connected to {} again; {failed} could not be sent so far",
                self.name
            ));
        }
    }

    /// The connection has failed, and is to be made again.
    fn lose(&mut self, error: io::Error) {
        say(&format!(
            "warning: {}; connecting again, and counting the flows that are given up",
            self.failed(&error)
        ));
        self.socket = Socket::Lost(error);
        self.templates_at = None;
        if let Some(reconnector) = &self.reconnector {
            reconnector.request();
        }
    }

    /// Sends what there is, or counts it as failed.
    fn send(&mut self) -> io::Result<()> {
        let flows = u64::from(self.encoder.records());
        if flows == 0 {
            return Ok(());
        }
        if matches!(self.socket, Socket::Udp(_)) {
            self.pace.wait();
        }
        self.count_refused();
        let is_due = match (&self.socket, self.templates_at) {
            (_, None) => true,
            (Socket::Udp(_), Some(at)) => at.elapsed() >= TEMPLATES,
            (Socket::Tcp(_) | Socket::Lost(_), Some(_)) => false,
        };
        let export_s = crate::values::moment::now_ns() / 1_000_000_000;
        let message = self.encoder.take(export_s as u32, is_due);
        let sent = match &mut self.socket {
            Socket::Tcp(stream) => {
                let written = connection::check_open(stream);
                match written.and_then(|()| stream.write_all(&message)) {
                    Ok(()) => true,
                    Err(error) if self.reconnector.is_some() => {
                        self.lose(error);
                        false
                    }
                    Err(error) => {
                        self.sent.failed_flows += flows;
                        return Err(self.failed(&error));
                    }
                }
            }
            Socket::Udp(_) => self.send_datagram(&message),
            Socket::Lost(_) => false,
        };
        if sent {
            self.sent.flows += flows;
            self.sent.messages += 1;
            self.last_flows = flows;
            if is_due {
                self.templates_at = Some(Instant::now());
            }
        } else {
            self.sent.failed_flows += flows;
        }
        Ok(())
    }

    /// Ends the sending. A connection is closed, and the collector, too, has to close it: it resets it if it has not read all.
    pub fn finish(&mut self) -> io::Result<()> {
        self.count_refused();
        // What waits for a connection.
        self.send()?;
        match &self.socket {
            Socket::Tcp(stream) if self.sent.messages > 0 => {
                connection::close(stream).map_err(|error| self.failed(&error))
            }
            Socket::Lost(error) => Err(self.failed(error)),
            Socket::Tcp(_) | Socket::Udp(_) => Ok(()),
        }
    }

    fn failed(&self, error: &io::Error) -> io::Error {
        io::Error::other(format!("cannot send flows to {}: {error}", self.name))
    }

    /// Sends a datagram. Returns whether it was sent.
    fn send_datagram(&mut self, message: &[u8]) -> bool {
        let Socket::Udp(socket) = &self.socket else {
            return false;
        };
        let is_refusal = match socket.send(message) {
            Ok(_) => return true,
            Err(error) => error.kind() == ErrorKind::ConnectionRefused,
        };
        // It came since the last look, is about the datagram before this one, and took the place of the sending.
        let sent = is_refusal && socket.send(message).is_ok();
        if is_refusal {
            self.refused();
        }
        sent
    }

    /// Counts the last datagram as failed if it was refused: nobody listened at the collector's port.
    ///
    /// The kernel reports a refusal to the next call on the socket, which then does nothing else (`udp_sendmsg` and `udp_recvmsg`
    /// in net/ipv4/udp.c). Here it is a call that has nothing to do.
    fn count_refused(&mut self) {
        let Socket::Udp(socket) = &self.socket else {
            return;
        };
        let received = recv(socket, &mut [0; 1], RecvFlags::DONTWAIT);
        if received.is_err_and(|error| !matches!(error, Errno::AGAIN | Errno::INTR)) {
            self.refused();
        }
    }

    /// The last datagram was refused. A collector that comes back has no templates.
    fn refused(&mut self) {
        let flows = std::mem::take(&mut self.last_flows);
        if flows > 0 {
            self.sent.flows -= flows;
            self.sent.messages -= 1;
            self.sent.failed_flows += flows;
        }
        self.templates_at = None;
    }
}

/// Prints a line about the connection.
fn say(line: &str) {
    // A closed standard error is no failure.
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

fn random_domain() -> NonZeroU32 {
    let random = RandomState::new().hash_one(0) as u32;
    NonZeroU32::new(random).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use tapline::flows::FlowEnd;

    use super::*;

    /// Set 2 of a message has templates (RFC 7011, section 3.3.2). It is the first one here.
    fn has_templates(message: &[u8]) -> bool {
        message[16..18] == [0, 2]
    }

    #[test]
    fn datagrams_of_files_have_a_pace() {
        let mut pace = Pace::new(USUAL_RATE);
        let begin = pace.next;
        for number in 1..=3 {
            pace.wait();
            // None is sent before its time, however late the one before was.
            assert!(pace.next >= begin + Duration::from_millis(number));
            assert!(Instant::now() + Duration::from_millis(1) >= pace.next);
        }
        let mut without = Pace::new(0);
        without.wait();
        assert!(without.next <= Instant::now());
    }

    #[test]
    fn a_collector_that_comes_back_gets_the_next_datagram_with_templates() {
        let end = |last| FlowEnd {
            address: IpAddr::from([10, 0, 0, last]),
            port: 7,
        };
        let mut flow = Flow::new(17, end(1), end(2));
        flow.end = EndReason::Idle;
        let listener = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = listener.local_addr().expect("an address");
        let to = collector(&address.to_string()).expect("an address");
        let rates = Rates::of_capture(None);
        let mut collector = Collector::open(&to, None, rates).expect("a socket");
        let Socket::Udp(socket) = &collector.socket else {
            panic!("a datagram needs no connection");
        };
        let from = socket.local_addr().expect("an address");
        let mut send = || {
            collector.add(&flow).expect("added");
            collector.flush().expect("sent");
            (collector.sent.flows, collector.sent.failed_flows)
        };
        let mut buffer = [0; 2048];
        let mut received = || {
            let bytes = listener.recv(&mut buffer).expect("a message");
            buffer[..bytes].to_vec()
        };
        assert_eq!(send(), (1, 0));
        assert!(has_templates(&received()));
        assert_eq!(send(), (2, 0));
        assert!(!has_templates(&received()));
        // A socket that is connected to another port does not receive; the kernel refuses what comes from elsewhere.
        listener.connect("127.0.0.1:9").expect("elsewhere");
        // The last one is not known to be refused yet.
        assert_eq!(send(), (3, 0));
        assert_eq!(send(), (3, 1));
        assert_eq!(send(), (3, 2));
        listener.connect(from).expect("back");
        assert_eq!(send(), (3, 3));
        assert!(has_templates(&received()));
        assert_eq!(send(), (4, 3));
        assert!(!has_templates(&received()));
        collector.finish().expect("the end");
        assert_eq!(collector.sent.messages, 4);
    }

    #[test]
    fn the_flows_that_are_left_at_the_end_of_a_capture_have_a_pace() {
        let listener = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = listener.local_addr().expect("an address").to_string();
        let to = collector(&to).expect("an address");
        let end = FlowEnd {
            address: IpAddr::from([10, 0, 0, 1]),
            port: 7,
        };
        let mut flow = Flow::new(17, end, end);
        for (rates, intervals_us) in [
            (Rates::of_capture(None), [0, 1000]),
            (Rates::of_capture(Some(500)), [2000, 2000]),
            (Rates::of_capture(Some(0)), [0, 0]),
            (Rates::of_files(None), [1000, 1000]),
        ] {
            let mut collector = Collector::open(&to, None, rates).expect("a socket");
            let intervals = [EndReason::Active, EndReason::End].map(|reason| {
                flow.end = reason;
                collector.add(&flow).expect("added");
                collector.pace.interval
            });
            assert_eq!(intervals, intervals_us.map(Duration::from_micros));
        }
    }
}
