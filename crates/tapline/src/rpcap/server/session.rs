//! The session of one client: carries out its requests, one after another, and sends packets in between. One thread, which never
//! waits for the client alone.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use filter::classic::{ClassicProgram, Instruction};
use rustix::event::{PollFd, PollFlags};

use super::super::connection::Connection;
use super::super::error::MessageError;
use super::super::error_code;
use super::super::message::{
    Credentials, Header, RemoteSampling, RemoteStatistics, Reply, Request, Versions,
};
use super::super::start::{StartReply, StartRequest};
use super::super::{
    ATTEMPT_DELAY, ATTEMPTS_MAX, AUTHENTICATION_BYTES_MAX, IDLE_TIME, MESSAGE_TIME,
    REQUEST_BYTES_MAX, STALL_TIME,
};
use super::access::{Access, LocalUsers};
use super::counters::ServerCounters;
use super::listener::Client;
use super::opener::{CaptureRequest, ChannelRequest, OpenRequest, Opened, OpenerClient};
use super::running::{PumpOutcome, Running, SessionReport};
use crate::Stop;
use crate::capture::{DEFAULT_SNAPLEN, DirectionFilter, Ended};
use crate::wait::wait;

/// Longest time in which a client takes no packet while its capture is being ended: some no longer read then.
const END_TIME: Duration = Duration::from_secs(1);

/// Longest time for a client that is refused to read why and to close its connection.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// Bytes of an interface's name.
const NAME_BYTES_MAX: usize = 15;

/// Why a session ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The client ended it.
    Closed,
    /// The server was stopped.
    Stopped,
    /// The client did not authenticate, or is not trusted: the reason, as it was sent to the client.
    NotAllowed(String),
    /// A message was damaged, or not expected.
    Message(MessageError),
    /// A time limit is over.
    Late,
    /// The connection failed.
    Connection(io::Error),
}

/// The session of a client.
pub struct Session {
    control: Connection,
    peer: SocketAddr,
    local: SocketAddr,
    /// `None`: whoever has the password is trusted.
    users: Option<LocalUsers>,
    opening: OpenerClient,
    interface: Option<String>,
    sampling: RemoteSampling,
    running: Option<Running>,
    /// Of the capture before.
    last: RemoteStatistics,
    /// When the last request was complete.
    requested: Instant,
    /// When a request began that is not complete.
    begun: Option<Instant>,
    counters: Arc<ServerCounters>,
}

impl Session {
    /// The session of `client`. `users` finds whose connections are; it is not needed with a password.
    ///
    /// # Errors
    /// The connection cannot be set up.
    pub fn new(
        client: Client,
        users: Option<LocalUsers>,
        opening: OpenerClient,
    ) -> io::Result<Self> {
        Ok(Self {
            control: Connection::new(client.stream)?,
            peer: client.peer,
            local: client.local,
            users,
            opening,
            interface: None,
            sampling: RemoteSampling::None,
            running: None,
            last: RemoteStatistics::default(),
            requested: Instant::now(),
            begun: None,
            counters: Arc::default(),
        })
    }

    /// Adds what its captures do to `counters`, while they run.
    #[must_use]
    pub fn counters(mut self, counters: Arc<ServerCounters>) -> Self {
        self.counters = counters;
        self
    }

    /// Serves the client until it closes the connection, or until `stop`. `report` is called at the end of each capture. Opens nothing and
    /// needs no privileges: sends and receives on open sockets, and accepts the connection for packets.
    pub fn run(
        mut self,
        access: &Access,
        stop: &Stop,
        report: &mut dyn FnMut(&SessionReport),
    ) -> SessionEnd {
        let end = match self.authenticate(access, stop) {
            Ok(()) => self.serve(stop, report),
            Err(end) => end,
        };
        self.finish(report);
        end
    }

    fn reply(&mut self, reply: &Reply) -> Result<(), SessionEnd> {
        let sent = self.control.send(&reply.bytes(), MESSAGE_TIME);
        sent.map_err(SessionEnd::Connection)
    }

    fn refuse(&mut self, code: u16, text: impl Into<String>) -> Result<(), SessionEnd> {
        let text = text.into().into_bytes();
        self.reply(&Reply::Error(code, text))
    }

    /// Refuses, and ends the session.
    fn end(&mut self, code: u16, text: impl Into<String>, end: SessionEnd) -> SessionEnd {
        // What counts is why it ends.
        if self.refuse(code, text).is_ok() {
            self.control.close_after_reading(CLOSE_TIME);
        }
        end
    }

    fn not_allowed(&mut self, code: u16, text: String) -> SessionEnd {
        self.end(code, text.clone(), SessionEnd::NotAllowed(text))
    }

    fn damaged(&mut self, error: MessageError) -> SessionEnd {
        let text = error.to_string();
        self.end(error_code::WRONG_MESSAGE, text, SessionEnd::Message(error))
    }

    /// The request of a message. All have version 0, whatever else a server has.
    fn request(&mut self, header: Header, payload: &[u8]) -> Result<Request, SessionEnd> {
        if header.version != 0 {
            let text = "this server has version 0 of the protocol, without TLS";
            let end = SessionEnd::Message(MessageError::Unknown { kind: header.kind });
            return Err(self.end(error_code::WRONG_VERSION, text, end));
        }
        Request::parse(header, payload).map_err(|error| self.damaged(error))
    }

    fn authenticate(&mut self, access: &Access, stop: &Stop) -> Result<(), SessionEnd> {
        if let Some(users) = &mut self.users
            && let Some(text) = users.refuses(self.peer, self.local)
        {
            return Err(self.not_allowed(error_code::NOT_ALLOWED, text));
        }
        let until = Instant::now() + MESSAGE_TIME + ATTEMPT_DELAY * ATTEMPTS_MAX;
        let mut refusal = "";
        for _ in 0..ATTEMPTS_MAX {
            let left = until.saturating_duration_since(Instant::now());
            let time = left.min(MESSAGE_TIME);
            let message = self.control.receive(AUTHENTICATION_BYTES_MAX, time);
            let (header, payload) = match message {
                Ok(message) => message,
                Err(error) => return Err(end_of(refusal, self.not_received(error))),
            };
            let given = match self.request(header, &payload)? {
                Request::Authenticate(given) => given,
                Request::Close | Request::Error(..) => {
                    return Err(end_of(refusal, SessionEnd::Closed));
                }
                _ => {
                    let text = "the first request has to be that of authentication".to_owned();
                    return Err(self.not_allowed(error_code::WRONG_MESSAGE, text));
                }
            };
            match admits(access, given.as_ref()) {
                None => {
                    let versions = Versions {
                        min: 0,
                        max: 0,
                        is_big_endian: Some(cfg!(target_endian = "big")),
                    };
                    self.requested = Instant::now();
                    return self.reply(&Reply::Authenticated(Some(versions)));
                }
                Some((code, text)) => {
                    if code == error_code::AUTHENTICATION {
                        let stopped = wait(&mut [PollFd::new(stop, PollFlags::IN)], ATTEMPT_DELAY);
                        if stopped.map_err(SessionEnd::Connection)? {
                            return Err(SessionEnd::Stopped);
                        }
                    }
                    refusal = text;
                    let told = self.refuse(code, text);
                    told.map_err(|end| end_of(refusal, end))?;
                }
            }
        }
        Err(SessionEnd::NotAllowed(refusal.to_owned()))
    }

    fn not_received(&mut self, error: super::super::error::RemoteError) -> SessionEnd {
        use super::super::error::RemoteError;
        match error {
            RemoteError::Message(error) => self.damaged(error),
            RemoteError::Closed => SessionEnd::Closed,
            RemoteError::Connection(error) if error.kind() == io::ErrorKind::TimedOut => {
                let text = "the time to authenticate is over";
                self.end(error_code::INITIAL_TIME, text, SessionEnd::Late)
            }
            RemoteError::Connection(error) => SessionEnd::Connection(error),
            other => SessionEnd::Connection(io::Error::other(other)),
        }
    }

    fn serve(&mut self, stop: &Stop, report: &mut dyn FnMut(&SessionReport)) -> SessionEnd {
        loop {
            match self.step(stop, report) {
                Ok(()) => {}
                Err(end) => return end,
            }
        }
    }

    /// One request if there is one, some packets, and else a wait.
    fn step(
        &mut self,
        stop: &Stop,
        report: &mut dyn FnMut(&SessionReport),
    ) -> Result<(), SessionEnd> {
        let is_ending = self.running.as_ref().is_some_and(|one| one.is_ending);
        if !is_ending && let Some(request) = self.next_request()? {
            return self.carry_out(request, report);
        }
        let mut pumped = PumpOutcome::Idle;
        if let Some(running) = &mut self.running {
            let accepted = running.accept(self.users.as_mut());
            accepted.map_err(SessionEnd::Connection)?;
            pumped = running.pump();
            if pumped == PumpOutcome::Idle && running.is_closed() {
                pumped = PumpOutcome::ClientGone;
            }
        }
        match pumped {
            PumpOutcome::MoreWork => {
                // Requests and the stop are looked for in between.
                return self.wait(stop, Duration::ZERO);
            }
            PumpOutcome::Finished | PumpOutcome::ClientGone => {
                return self.capture_over(is_ending, report);
            }
            PumpOutcome::Idle => {}
        }
        let now = Instant::now();
        let until = self.deadline();
        if now >= until {
            return self.late(is_ending, report);
        }
        self.wait(stop, until - now)
    }

    /// The next complete request.
    fn next_request(&mut self) -> Result<Option<Request>, SessionEnd> {
        let filled = self.control.fill(REQUEST_BYTES_MAX);
        filled.map_err(SessionEnd::Connection)?;
        let taken = self.control.take(REQUEST_BYTES_MAX);
        let Some((header, payload)) = taken.map_err(|error| self.damaged(error))? else {
            if self.control.is_over() {
                return Err(SessionEnd::Closed);
            }
            let has_begun = self.control.has_begun();
            self.begun = has_begun.then(|| self.begun.unwrap_or_else(Instant::now));
            return Ok(None);
        };
        (self.requested, self.begun) = (Instant::now(), None);
        self.request(header, &payload).map(Some)
    }

    fn wait(&self, stop: &Stop, time: Duration) -> Result<(), SessionEnd> {
        let mut polled = vec![PollFd::new(stop, PollFlags::IN)];
        let is_ending = self.running.as_ref().is_some_and(|one| one.is_ending);
        if !is_ending {
            polled.push(PollFd::from_borrowed_fd(
                self.control.as_fd(),
                PollFlags::IN,
            ));
        }
        if let Some(running) = &self.running {
            running.interests(|descriptor, flags| {
                polled.push(PollFd::from_borrowed_fd(descriptor, flags));
            });
        }
        wait(&mut polled, time).map_err(SessionEnd::Connection)?;
        if polled[0].revents().is_empty() {
            Ok(())
        } else {
            Err(SessionEnd::Stopped)
        }
    }

    /// When something has to have happened.
    fn deadline(&self) -> Instant {
        let begun = self.begun.map(|begun| begun + MESSAGE_TIME);
        let of_state = match &self.running {
            None => self.requested + IDLE_TIME,
            Some(running) if running.is_ending => running.progress + END_TIME,
            Some(running) if running.is_awaited() => running.progress + MESSAGE_TIME,
            Some(running) if running.is_blocked() => running.progress + STALL_TIME,
            Some(_) => Instant::now() + IDLE_TIME,
        };
        begun.map_or(of_state, |begun| begun.min(of_state))
    }

    fn late(
        &mut self,
        is_ending: bool,
        report: &mut dyn FnMut(&SessionReport),
    ) -> Result<(), SessionEnd> {
        if is_ending {
            return self.capture_over(true, report);
        }
        let text = "a time limit is over";
        Err(self.end(error_code::IDLE_TIME, text, SessionEnd::Late))
    }

    /// The capture has ended: as the client wanted, by itself, or because the client no longer takes packets.
    fn capture_over(
        &mut self,
        is_ending: bool,
        report: &mut dyn FnMut(&SessionReport),
    ) -> Result<(), SessionEnd> {
        let why = self.running.as_ref().and_then(|one| one.ended());
        let why = why.map(|ended| match ended {
            Ended::LinkDown { link } => {
                format!("the capture has ended: interface {link} went down")
            }
            Ended::LinkRemoved { link } => {
                format!("the capture has ended: interface {link} was removed")
            }
            _ => "the capture has ended".to_owned(),
        });
        self.finish(report);
        match why {
            _ if is_ending => self.reply(&Reply::Ended),
            Some(why) => self.refuse(error_code::READ, why),
            None => Ok(()),
        }
    }

    fn finish(&mut self, report: &mut dyn FnMut(&SessionReport)) {
        if let Some(mut running) = self.running.take() {
            let received = running.statistics();
            let of_capture = running.finish(self.peer);
            self.last = RemoteStatistics {
                sent: of_capture.sent as u32,
                ..received
            };
            report(&of_capture);
        }
    }

    fn carry_out(
        &mut self,
        request: Request,
        report: &mut dyn FnMut(&SessionReport),
    ) -> Result<(), SessionEnd> {
        match request {
            Request::Close | Request::Error(..) => Err(SessionEnd::Closed),
            Request::Authenticate(_) => {
                let text = "the client is authenticated already";
                self.refuse(error_code::WRONG_MESSAGE, text)
            }
            Request::List => match self.opening.ask(OpenRequest::Interfaces) {
                Some(Opened::Interfaces(Ok(interfaces))) => {
                    self.reply(&Reply::Interfaces(interfaces))
                }
                Some(Opened::Interfaces(Err(why))) => self.refuse(error_code::LIST, why),
                _ => Err(SessionEnd::Stopped),
            },
            Request::Open(name) => self.open(&name),
            Request::Start(start) => self.start(&start),
            Request::UpdateFilter(filter) => self.update_filter(filter),
            Request::Statistics => {
                let running = self.running.as_mut();
                let statistics = running.map_or(self.last, Running::statistics);
                self.reply(&Reply::Statistics(statistics))
            }
            Request::End => match &mut self.running {
                // Nobody takes what is left.
                Some(running) if running.is_awaited() => self.capture_over(true, report),
                Some(running) => {
                    running.end();
                    Ok(())
                }
                None => self.refuse(error_code::END, "no capture runs"),
            },
            Request::SetSampling(sampling) => {
                self.sampling = sampling;
                self.reply(&Reply::SamplingSet)
            }
        }
    }

    fn open(&mut self, name: &[u8]) -> Result<(), SessionEnd> {
        let name = String::from_utf8(name.to_vec());
        let name = name
            .ok()
            .filter(|name| (1..=NAME_BYTES_MAX).contains(&name.len()));
        let Some(name) = name else {
            return self.refuse(error_code::OPEN, "this is not the name of an interface");
        };
        match self.opening.ask(OpenRequest::LinkType(name.clone())) {
            Some(Opened::LinkType(Ok(number))) => {
                self.interface = Some(name);
                self.reply(&Reply::Opened(number))
            }
            Some(Opened::LinkType(Err(why))) => self.refuse(error_code::OPEN, why),
            _ => Err(SessionEnd::Stopped),
        }
    }

    fn start(&mut self, start: &StartRequest) -> Result<(), SessionEnd> {
        let Some(interface) = self.interface.clone() else {
            return self.refuse(error_code::START, "no interface was opened");
        };
        if self.running.is_some() {
            return self.refuse(error_code::START, "a capture runs already");
        }
        let filter = match program(start.filter.clone()) {
            Ok(filter) => filter,
            Err(why) => return self.refuse(error_code::START, why),
        };
        let snaplen = match start.snaplen {
            0 => DEFAULT_SNAPLEN,
            bytes => bytes.min(DEFAULT_SNAPLEN),
        };
        let client = self.peer.ip();
        let request = CaptureRequest {
            interface: interface.clone(),
            snaplen,
            promiscuous: start.promiscuous,
            direction: direction(start),
            filter: filter.clone(),
            channel: self.channel(start, client),
        };
        let opened = match self.opening.ask(OpenRequest::Capture(request)) {
            Some(Opened::Capture(Ok(opened))) => *opened,
            Some(Opened::Capture(Err(why))) => return self.refuse(error_code::START, why),
            _ => return Err(SessionEnd::Stopped),
        };
        let reply = StartReply {
            buffer_bytes: opened.buffer_bytes,
            port: opened.channel.port().map_err(SessionEnd::Connection)?,
        };
        let sampling = self.sampling;
        let counters = Arc::clone(&self.counters);
        let running = Running::new(
            interface, opened, client, snaplen, filter, sampling, counters,
        );
        self.running = Some(running);
        self.reply(&Reply::Started(reply))
    }

    /// Packets go to the address of the client only.
    fn channel(&self, start: &StartRequest, client: IpAddr) -> ChannelRequest {
        let to = SocketAddr::new(client, start.port);
        match (start.datagrams, start.server_connects) {
            (true, _) => ChannelRequest::Datagrams(self.local.ip(), to),
            (false, true) => ChannelRequest::Connect(to),
            (false, false) => ChannelRequest::Accept(self.local.ip()),
        }
    }

    fn update_filter(&mut self, filter: Vec<Instruction>) -> Result<(), SessionEnd> {
        let Some(running) = &mut self.running else {
            return self.refuse(error_code::UPDATE_FILTER, "no capture runs");
        };
        let set = program(filter).and_then(|filter| {
            let set = running.set_filter(filter);
            set.map_err(|error| format!("the filter cannot be changed: {error}"))
        });
        match set {
            Ok(()) => self.reply(&Reply::FilterUpdated),
            Err(why) => self.refuse(error_code::UPDATE_FILTER, why),
        }
    }
}

/// The end of a client that left before it was admitted. One that was refused an attempt, and made no further one, was refused:
/// guessed passwords are counted, one a connection or several.
fn end_of(refusal: &str, end: SessionEnd) -> SessionEnd {
    match end {
        SessionEnd::Closed | SessionEnd::Late | SessionEnd::Connection(_)
            if !refusal.is_empty() =>
        {
            SessionEnd::NotAllowed(refusal.to_owned())
        }
        end => end,
    }
}

/// The number and the text of an error, unless the client is admitted.
fn admits(access: &Access, given: Option<&Credentials>) -> Option<(u16, &'static str)> {
    match (access, given) {
        (Access::LocalUsers, None) => None,
        (Access::LocalUsers, Some(_)) => Some((
            error_code::AUTHENTICATION_TYPE,
            "this server has no password: connect without one",
        )),
        (Access::Password(_), None) => Some((
            error_code::AUTHENTICATION_TYPE,
            "this server requires a password",
        )),
        (Access::Password(password), Some(given)) if password.is(given) => None,
        (Access::Password(_), Some(_)) => {
            Some((error_code::AUTHENTICATION, "wrong user or password"))
        }
    }
}

/// The program of instructions; `None` accepts all packets.
fn program(instructions: Vec<Instruction>) -> Result<Option<ClassicProgram>, String> {
    if instructions.is_empty() {
        return Ok(None);
    }
    let program = ClassicProgram::new(instructions);
    let program = program.map_err(|error| format!("the filter is invalid: {error}"))?;
    // A program that accepts all costs nothing.
    let is_all =
        matches!(program.instructions(), [Instruction { code: 6, k, .. }] if *k >= DEFAULT_SNAPLEN);
    Ok(Some(program).filter(|_| !is_all))
}

fn direction(start: &StartRequest) -> DirectionFilter {
    match (start.inbound, start.outbound) {
        (true, false) => DirectionFilter::In,
        (false, true) => DirectionFilter::Out,
        _ => DirectionFilter::Both,
    }
}
