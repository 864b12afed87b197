//! The client's set-up: connects, authenticates, chooses an interface and starts the capture.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use filter::classic::ClassicProgram;
use filter::{FilterOptions, FilterWarning};
use store::model::{Interface, LinkType};

use super::connection::{Connection, ask};
use super::data::DataChannel;
use super::error::RemoteError;
use super::interface_list::RemoteInterface;
use super::message::{Reply, Request, Versions};
use super::options::{DataTransport, RemoteOptions};
use super::receive::RemoteCapture;
use super::start::StartRequest;
use super::{MESSAGE_TIME, link_type};
use crate::capture::Filter;

/// Longest time for a connection to an address.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long a server may gather packets, ms.
const READ_TIMEOUT_MS: u32 = 100;

impl RemoteOptions {
    /// Starts the capture at the server. Waits for its replies, each for at most [`MESSAGE_TIME`].
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn open(self) -> Result<RemoteCapture, RemoteError> {
        let (mut control, address) = enter(&self)?;
        let name = self.interface.clone().into_bytes();
        let Reply::Opened(number) = ask(&mut control, &Request::Open(name))? else {
            return Err(RemoteError::Unexpected);
        };
        let Some(link_type) = link_type::to_file(number) else {
            let interface = self.interface;
            return Err(RemoteError::LinkType { interface, number });
        };
        let (program, warnings) = compile(&self, link_type)?;
        let local = control.local().map_err(RemoteError::Data)?.ip();
        let bound = match self.transport {
            DataTransport::Tcp => None,
            DataTransport::Udp => Some(DataChannel::bind(local, address.ip())),
        };
        let bound = bound.transpose().map_err(RemoteError::Data)?;
        let start = StartRequest {
            snaplen: self.snaplen,
            read_timeout_ms: READ_TIMEOUT_MS,
            promiscuous: self.promiscuous,
            datagrams: bound.is_some(),
            server_connects: false,
            inbound: false,
            outbound: false,
            port: bound.as_ref().map_or(0, |(_, port)| *port),
            filter: program.instructions().to_vec(),
        };
        let Reply::Started(started) = ask(&mut control, &Request::Start(start))? else {
            return Err(RemoteError::Unexpected);
        };
        let to = SocketAddr::new(address.ip(), started.port);
        let data = bound.map_or_else(
            || DataChannel::connect(to, CONNECT_TIME),
            |(channel, _)| Ok(channel),
        );
        let data = data.map_err(RemoteError::Data)?;
        let interface = self.description(link_type);
        Ok(RemoteCapture::new(self, control, data, interface, warnings))
    }

    /// The interface as a capture file describes it.
    fn description(&self, link_type: u16) -> Interface {
        let mut interface = Interface::new(LinkType(link_type), self.snaplen);
        interface.name = Some(self.interface.clone());
        interface.description = Some(format!("rpcap://{}:{}", self.host, self.port));
        let text = self.filter.as_ref().and_then(Filter::text);
        interface.filter = text.map(str::to_owned);
        interface
    }
}

/// The interfaces of a server. `interface` of the options has no effect.
///
/// # Errors
/// [`RemoteError`].
pub fn list(options: &RemoteOptions) -> Result<Vec<RemoteInterface>, RemoteError> {
    let (mut control, _) = enter(options)?;
    let reply = ask(&mut control, &Request::List)?;
    // It would close the connection anyway.
    let _ = control.send(&Request::Close.bytes(), MESSAGE_TIME);
    match reply {
        Reply::Interfaces(interfaces) => Ok(interfaces),
        _ => Err(RemoteError::Unexpected),
    }
}

/// Connects and authenticates.
fn enter(options: &RemoteOptions) -> Result<(Connection, SocketAddr), RemoteError> {
    let (host, port) = (&options.host, options.port);
    let failed = |source| RemoteError::Connect {
        host: host.clone(),
        port,
        source,
    };
    let (stream, address) = connect(host, port).map_err(failed)?;
    let mut control = Connection::new(stream).map_err(RemoteError::Connection)?;
    let is_local = || control.local().is_ok_and(|local| local.ip().is_loopback());
    if let Some(warn) = options.before_password
        && options.credentials.is_some()
        && !is_local()
    {
        warn();
    }
    let request = Request::Authenticate(options.credentials.clone());
    let Reply::Authenticated(versions) = ask(&mut control, &request)? else {
        return Err(RemoteError::Unexpected);
    };
    match versions {
        Some(Versions { min, max, .. }) if min > 0 => Err(RemoteError::Versions { min, max }),
        _ => Ok((control, address)),
    }
}

/// Connects to the first address that accepts.
fn connect(host: &str, port: u16) -> io::Result<(TcpStream, SocketAddr)> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIME) {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The program that the server runs: there is one also without a filter, because servers want it.
fn compile(
    options: &RemoteOptions,
    link_type: u16,
) -> Result<(ClassicProgram, Vec<FilterWarning>), RemoteError> {
    let expression = match &options.filter {
        None => return Ok((ClassicProgram::keep(options.snaplen), Vec::new())),
        Some(Filter::Program(program)) => return Ok((program.clone(), Vec::new())),
        Some(Filter::Expression(expression)) => expression,
    };
    let link_type = filter::LinkType::from_number(link_type);
    let mut compiled = FilterOptions::new(link_type);
    compiled.snaplen = options.snaplen;
    let program = filter::Filter::new(&expression.text, &compiled, &*expression.names)
        .and_then(|filter| Ok((filter.classic()?, filter.warnings().to_vec())));
    program.map_err(|error| RemoteError::Filter {
        interface: options.interface.clone(),
        link_type,
        error,
    })
}
