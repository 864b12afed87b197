//! Errors of opening a run, with advice.

use tapline::capture::CaptureError;
use tapline::ping::{Backend, PingError, PingOperation, XdpRefusal};
use tapline::send::SendPath;

use crate::args::{Origin, PingArgs};
use crate::failure::{Exit, Failure, chain};

/// Permits ping sockets to all users.
const PERMIT: &str = "sysctl -w 'net.ipv4.ping_group_range=0 2147483647'";

pub fn open(args: &PingArgs, error: PingError) -> Failure {
    let (exit, advice) = match &error {
        PingError::NotPermitted { source } => {
            let line = format!(
                "cannot open a raw or a ping socket: {} (run with sudo, or give tapline CAP_NET_RAW with \
                 setcap, or permit ping sockets: {PERMIT})",
                chain(source)
            );
            return Failure::new(Exit::Privilege, line);
        }
        PingError::Options(_) => (Exit::Usage, None),
        PingError::XdpRefused(refusal) => (Exit::Usage, xdp_advice(refusal)),
        PingError::Xdp { .. } if error.is_xdp_privilege() => (
            Exit::Privilege,
            Some(
                privileges(args.send_path).to_owned(),
            ),
        ),
        PingError::Xdp { .. } if error.is_xdp_occupied() => (
            Exit::Failed,
            Some(
                "one run by XDP at a time uses an interface: give it all targets, wait for its end, or use --backend raw"
                    .to_owned(),
            ),
        ),
        PingError::Xdp { .. } if error.is_old_kernel() => (
            Exit::Unsupported,
            Some(match args.send_path {
                SendPath::LiveFrames => "use --send-path auto".to_owned(),
                _ => "use --backend auto".to_owned(),
            }),
        ),
        PingError::Uplink { .. } => {
            let line = format!("{error}; give --yes-on-uplink to ping on it");
            return Failure::new(Exit::Usage, line);
        }
        PingError::Socket(source) if is_privilege(&source.source) => (
            Exit::Privilege,
            Some(privileges(SendPath::Xdp).to_owned()),
        ),
        PingError::Interface { link, source } => match source.raw_os_error() {
            Some(libc::ENODEV) => (
                Exit::Failed,
                Some(format!(
                    "there is no {link}; 'ip link' lists the interfaces"
                )),
            ),
            Some(libc::EPERM | libc::EACCES) => (Exit::Privilege, None),
            _ => (Exit::Failed, None),
        },
        PingError::NoInterface => (
            Exit::Usage,
            Some("add a route, or give -I IF; 'ip route get ADDRESS' shows the way".to_owned()),
        ),
        PingError::Kernel { operation, source } => {
            kernel(args, *operation, source.raw_os_error().unwrap_or(0))
        }
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

/// The capabilities of the XDP back end.
fn privileges(path: SendPath) -> &'static str {
    match path {
        SendPath::Xdp => "needs CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_NET_RAW; run with sudo",
        _ => "needs CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_ADMIN; run with sudo",
    }
}

/// What to do if the XDP back end does not support a run.
fn xdp_advice(refusal: &XdpRefusal) -> Option<String> {
    let advice = match refusal {
        XdpRefusal::OwnAddress | XdpRefusal::Option { .. } | XdpRefusal::NoMac { .. } => {
            "use --backend raw"
        }
        XdpRefusal::Zone { .. } => "ping them in a run for each interface, or use --backend raw",
        XdpRefusal::OtherInterface { .. } => {
            "'ip route get ADDRESS' shows the way: give its interface with -I, or add a route"
        }
        XdpRefusal::LinkDown { link } => {
            return Some(format!("'ip link set {link} up' brings it up"));
        }
        XdpRefusal::NoAddress { .. } => "'ip address add' gives it one",
        XdpRefusal::LowerNamespace { .. } => {
            "run it there on the lower interface with 'ip netns exec', or use --backend raw"
        }
        XdpRefusal::Payload { .. } | XdpRefusal::Mtu { .. } => "use -s, or --backend raw",
        _ => return None,
    };
    Some(advice.to_owned())
}

fn is_privilege(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

fn kernel(args: &PingArgs, operation: PingOperation, errno: i32) -> (Exit, Option<String>) {
    let origin = match &args.interface {
        Some(Origin::Link(name)) => name.clone(),
        Some(Origin::Address(address)) => address.to_string(),
        None => String::new(),
    };
    match (operation, errno) {
        (PingOperation::OpenSocket(Backend::PingSocket), libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            Some(format!("permit ping sockets: {PERMIT}")),
        ),
        (PingOperation::OpenSocket(_), libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            Some("needs CAP_NET_RAW; run with sudo or setcap, or use --backend ping-socket".into()),
        ),
        (PingOperation::OpenSocket(_), libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT) => (
            Exit::Unsupported,
            Some("this kernel has no such sockets".into()),
        ),
        (PingOperation::BindSource, libc::EADDRNOTAVAIL) => (
            Exit::Failed,
            Some(format!(
                "no interface has {origin}; 'ip address' lists them"
            )),
        ),
        (_, libc::EPERM | libc::EACCES) => (Exit::Privilege, None),
        _ => (Exit::Failed, None),
    }
}
