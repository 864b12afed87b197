//! Why a run could not be opened, and what helps.

use tapline::capture::CaptureError;
use tapline::ping::{Backend, PingError, Step};

use crate::args::{Origin, PingArgs};
use crate::failure::{Exit, Failure, chain};

/// What permits ping sockets to everybody.
const PERMIT: &str = "sysctl -w 'net.ipv4.ping_group_range=0 2147483647'";

pub fn open(args: &PingArgs, error: PingError) -> Failure {
    let (exit, advice) = match &error {
        PingError::NotPermitted { source } => {
            let line = format!(
                "cannot open a raw or a ping socket: {} (run with sudo, or give tapline CAP_NET_RAW with \
                 setcap, or let everybody ping: {PERMIT})",
                chain(source)
            );
            return Failure::new(Exit::Privilege, line);
        }
        PingError::Plan(_) => (Exit::Usage, None),
        PingError::NoLink => (Exit::Usage, Some("use -I IF".to_owned())),
        PingError::Setup { step, source } => setup(args, *step, source.raw_os_error().unwrap_or(0)),
        PingError::Ring(_) => {
            let PingError::Ring(error) = error else {
                unreachable!("it was matched")
            };
            return CaptureError::Ring(error).into();
        }
        _ => (Exit::Failed, None),
    };
    let line = chain(&error);
    let line = match advice {
        Some(advice) => format!("{line} ({advice})"),
        None => line,
    };
    Failure::new(exit, line)
}

fn setup(args: &PingArgs, step: Step, errno: i32) -> (Exit, Option<String>) {
    let origin = match &args.interface {
        Some(Origin::Link(name)) => name.clone(),
        Some(Origin::Address(address)) => address.to_string(),
        None => String::new(),
    };
    match (step, errno) {
        (Step::Socket(Backend::PingSocket), libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            Some(format!("let everybody ping: {PERMIT}")),
        ),
        (Step::Socket(_), libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            Some("needs CAP_NET_RAW; run with sudo or setcap, or use --backend ping-socket".into()),
        ),
        (Step::Socket(_), libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT) => (
            Exit::Unsupported,
            Some("this kernel has no such sockets".into()),
        ),
        (Step::Link, libc::ENODEV) => (
            Exit::Failed,
            Some(format!(
                "there is no {origin}; 'ip link' lists the interfaces"
            )),
        ),
        (Step::Source, libc::EADDRNOTAVAIL) => (
            Exit::Failed,
            Some(format!(
                "no interface has {origin}; 'ip address' lists them"
            )),
        ),
        (_, libc::EPERM | libc::EACCES) => (Exit::Privilege, None),
        _ => (Exit::Failed, None),
    }
}
