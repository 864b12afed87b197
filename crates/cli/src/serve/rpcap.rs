//! `tapline serve rpcap`. The first thread accepts clients. Each client has two: one that opens captures and reads nothing from the
//! network, and the session, which has no capabilities and is restricted.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;
use tapline::Stop;
use tapline::rpcap::{
    Access, Client, Listener, LocalUsers, Opener, Password, ServerCounters, Session,
};

use super::report::Reporter;
use crate::args::ServeRpcapArgs;
use crate::failure::{Exit, Failure};
use crate::metrics::{self, serve_families};
use crate::process::{privilege, signals, user};
use crate::sandbox::{self, Sandbox};

/// Clients that are served at once. Others wait in the listen queue.
const CLIENTS_MAX: usize = 16;

/// How often it is looked whether one of so many clients has gone.
const FULL_PAUSE: Duration = Duration::from_millis(100);

/// Pause after accept(2) failed, for example because no descriptors are left.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// Longest time in which sessions end after a stop.
const END_TIME: Duration = Duration::from_secs(5);

/// Capabilities that opening a capture requires, and their names.
const NEEDED: [(CapabilitySet, &str); 1] = [(CapabilitySet::NET_RAW, "CAP_NET_RAW")];

pub fn run(args: &ServeRpcapArgs) -> Result<Exit, Failure> {
    let access = access(args)?;
    if let Some(missing) = privilege::missing_words(&NEEDED) {
        let line = format!("cannot capture for clients (needs {missing}; run with sudo or setcap)");
        return Err(Failure::new(Exit::Privilege, line));
    }
    // Who called it is trusted, not the user of --user.
    let has_users = matches!(access, Access::LocalUsers);
    let stop = Arc::new(signals::stop_as(&args.user, args.sandbox)?);
    let listener = Listener::bind(args.listen);
    let listener = listener.map_err(|error| {
        let line = Failure::job_on(format!("cannot listen on {}", args.listen), &error).line;
        let exit = match error.kind() {
            io::ErrorKind::PermissionDenied => Exit::Privilege,
            _ => Exit::Failed,
        };
        Failure::new(exit, line)
    })?;
    let metrics = args.metrics.map(metrics::Server::bind).transpose()?;
    let trusted = LocalUsers::usual();
    let kept = CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN | CapabilitySet::BPF;
    user::leave(&args.user, kept)?;
    let reporter = Arc::new(Reporter::new(args));
    let counters = Arc::new(ServerCounters::default());
    let url = metrics.as_ref().map(metrics::Server::url);
    if let Some(metrics) = metrics {
        let (clients, captures) = (Arc::clone(&reporter), Arc::clone(&counters));
        metrics.serve(args.sandbox, move || {
            serve_families(clients.counts(), &captures)
        })?;
    }
    let address = listener.address()?;
    reporter
        .start(address, &access, url.as_deref())
        .map_err(|error| Failure::stdout(&error))?;
    let mut server = Server {
        args,
        listener,
        access: Arc::new(access),
        users: has_users.then_some(trusted),
        stop,
        reporter,
        counters,
        sessions: Vec::new(),
    };
    server.serve()?;
    server.end();
    let printed = server.reporter.summary();
    printed.map_err(|error| Failure::output("cannot print the summary", &error))?;
    Ok(Exit::Done)
}

fn access(args: &ServeRpcapArgs) -> Result<Access, Failure> {
    match &args.password_file {
        Some(path) => {
            let password = Password::read(path).map_err(|error| Failure::job(&error))?;
            Ok(Access::Password(password))
        }
        None if args.listen.ip().is_loopback() => Ok(Access::LocalUsers),
        None => {
            let line = format!(
                "{} is not the loopback: --password-file is needed there",
                args.listen.ip()
            );
            Err(Failure::new(Exit::Usage, line))
        }
    }
}

struct Server<'s> {
    args: &'s ServeRpcapArgs,
    listener: Listener,
    access: Arc<Access>,
    /// Users whose connections are accepted without a password.
    users: Option<Vec<u32>>,
    stop: Arc<Stop>,
    reporter: Arc<Reporter>,
    counters: Arc<ServerCounters>,
    sessions: Vec<JoinHandle<Option<()>>>,
}

impl Server<'_> {
    /// Serves clients until the stop.
    fn serve(&mut self) -> Result<(), Failure> {
        let failed =
            |error: Errno| Failure::job_on("cannot wait for clients", &io::Error::from(error));
        let mut paused_until = None;
        loop {
            self.sessions.retain(|session| !session.is_finished());
            let now = Instant::now();
            paused_until = paused_until.filter(|&until| now < until);
            let is_full = self.sessions.len() >= CLIENTS_MAX;
            let pause = paused_until.map(|until: Instant| until - now);
            let pause = pause.or_else(|| is_full.then_some(FULL_PAUSE));
            let mut polled = vec![PollFd::new(&*self.stop, PollFlags::IN)];
            if pause.is_none() {
                polled.push(PollFd::new(&self.listener, PollFlags::IN));
            }
            let timeout = pause.and_then(|pause| Timespec::try_from(pause).ok());
            match poll(&mut polled, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error)),
            }
            if !polled[0].revents().is_empty() {
                return Ok(());
            }
            if pause.is_some() {
                continue;
            }
            match self.listener.accept() {
                Ok(None) => {}
                Ok(Some(client)) => {
                    let peer = client.peer();
                    if let Err(failure) = self.begin(client) {
                        self.reporter.refused(peer, &failure.line);
                    }
                }
                Err(_) => paused_until = Some(now + FAILED_PAUSE),
            }
        }
    }

    /// Starts the threads of a client.
    fn begin(&mut self, client: Client) -> Result<(), Failure> {
        let peer = client.peer();
        let (opener, opening) = Opener::pair();
        let users = self.users.clone().map(LocalUsers::open).transpose()?;
        let session = Session::new(client, users, opening)?;
        let session = session.counters(Arc::clone(&self.counters));
        let thread = thread::Builder::new().name("opener".into());
        // It ends with the session.
        thread.spawn(move || opener.run())?;
        let (access, stop) = (Arc::clone(&self.access), Arc::clone(&self.stop));
        let reporter = Arc::clone(&self.reporter);
        let serve = move || {
            reporter.begin();
            let end = session.run(&access, &stop, &mut |report| reporter.capture(report));
            reporter.client(peer, &end);
        };
        let session = Sandbox::new(&sandbox::SERVE).spawn(self.args.sandbox, serve)?;
        self.sessions.push(session);
        Ok(())
    }

    /// Waits for sessions, which see the stop, too.
    fn end(&mut self) {
        let until = Instant::now() + END_TIME;
        while self.sessions.iter().any(|session| !session.is_finished()) && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(10));
        }
    }
}
