//! Errors when opening an AF_XDP ring, and their remedies.

use crate::support;
use std::os::fd::AsFd;

use crate::support::xsk_rings::{RingSetup, attach, open, open_freed, steer};
use abi::xdp::SOL_XDP;
use lab::bpf::{XdpAttachMode, XdpLink, XskProgram, XskProgramOptions};
use lab::{Host, Net, rerun};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tapline_ring::{
    BusyPoll, RingOptionError, XdpOpenError, XdpRing, XdpRingOptions, XdpSetupError, XdpSetupStep,
    ZeroCopy,
};

/// Reads how the socket was bound (include/uapi/linux/if_xdp.h).
const XDP_OPTIONS: i32 = 8;
const XDP_OPTIONS_ZEROCOPY: u32 = 1;

#[track_caller]
fn refusal(host: &Host, link: &str, options: &XdpRingOptions) -> XdpSetupError {
    match host.run(|| XdpRing::open(link, options)) {
        Err(XdpOpenError::Setup(error)) => {
            assert_eq!(error.link, link);
            error
        }
        other => panic!("{other:?}"),
    }
}

/// Runs `job` on the host without a capability, on a separate thread.
fn without<T: Send>(host: &Host, capability: CapabilitySet, job: impl FnOnce() -> T + Send) -> T {
    host.run(|| {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(capability);
        set_capabilities(None, sets).unwrap();
        job()
    })
}

#[test]
fn an_unknown_interface_is_not_found() {
    let host = Host::new("alone");
    for link in [
        "nowhere0",
        "",
        "a-name-of-more-than-15-letters",
        "lo ",
        "LO",
    ] {
        let error = refusal(&host, link, &XdpRingOptions::default());
        assert_eq!(
            (error.step, error.source.raw_os_error()),
            (XdpSetupStep::Interface, Some(libc::ENODEV))
        );
        let queues = host.run(|| XdpRing::queue_count(link));
        assert!(
            matches!(queues, Err(XdpOpenError::Setup(error)) if error.step == XdpSetupStep::Interface)
        );
    }
}

#[test]
fn without_a_privilege_it_is_named() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let open = |options: XdpRingOptions| XdpRing::open(&name, &options).unwrap_err().to_string();
    let told = without(&right, CapabilitySet::NET_RAW, || {
        open(XdpRingOptions::default())
    });
    assert_eq!(
        told,
        "cannot open an AF_XDP socket for right0 (needs CAP_NET_RAW; run with sudo or setcap)"
    );
    let busy = XdpRingOptions {
        busy_poll: Some(BusyPoll::default()),
        ..XdpRingOptions::default()
    };
    let told = without(&right, CapabilitySet::NET_ADMIN, || open(busy));
    assert_eq!(
        told,
        "cannot turn on busy polling on right0 (busy polling needs CAP_NET_ADMIN)"
    );
    let load = || {
        XskProgram::load(&XskProgramOptions::new(1))
            .unwrap_err()
            .to_string()
    };
    for one in [CapabilitySet::BPF, CapabilitySet::NET_ADMIN] {
        let told = without(&right, one | CapabilitySet::SYS_ADMIN, load);
        assert_eq!(
            told,
            "cannot create BPF map tapline_xsk (needs CAP_BPF and CAP_NET_ADMIN)"
        );
    }
}

#[test]
fn a_queue_is_for_one_ring() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let options = RingSetup::new(XdpAttachMode::Native, 256).ring;
    let first = open(&right, &options);
    assert!(!first.is_zero_copy());
    assert!(first.uses_need_wakeup());
    let error = refusal(&right, &name, &options);
    assert_eq!((error.step, error.queue), (XdpSetupStep::Bind, 0));
    assert_eq!(error.source.raw_os_error(), Some(libc::EBUSY));
    assert_eq!(
        error.to_string(),
        "cannot receive from queue 0 of right0 (another AF_XDP socket has this queue, or had it \
         a moment ago)"
    );
    drop(first);
    open_freed(&right, &options);
}

#[test]
fn a_driver_without_zero_copy_copies_unless_that_was_ruled_out() {
    for (zero_copy, is_opened) in [
        (ZeroCopy::IfOffered, true),
        (ZeroCopy::Never, true),
        (ZeroCopy::Required, false),
    ] {
        let [_left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let options = XdpRingOptions {
            zero_copy,
            ..RingSetup::new(XdpAttachMode::Native, 256).ring
        };
        if is_opened {
            let ring = open(&right, &options);
            let flags: u32 = abi::socket::option(ring.as_fd(), SOL_XDP, XDP_OPTIONS).unwrap();
            assert_eq!(flags & XDP_OPTIONS_ZEROCOPY, 0);
            assert!(!ring.is_zero_copy());
        } else {
            let error = refusal(&right, &name, &options);
            assert_eq!(error.source.raw_os_error(), Some(libc::EOPNOTSUPP));
            assert_eq!(
                error.to_string(),
                "cannot receive from queue 0 of right0 (its driver has no zero copy for this MTU: \
                 allow copying)"
            );
        }
    }
}

#[test]
fn options_that_cannot_be_are_refused() {
    let host = Host::new("alone");
    let refused = |options: XdpRingOptions| match host.run(|| XdpRing::open("lo", &options)) {
        Err(XdpOpenError::Option(error)) => error,
        other => panic!("{other:?}"),
    };
    let snaplen = 0;
    let options = XdpRingOptions {
        snaplen,
        ..XdpRingOptions::default()
    };
    assert_eq!(refused(options), RingOptionError::SnaplenZero);
    for buffer_bytes in [usize::MAX, 1 << 32, (1 << 31) + 1] {
        let options = XdpRingOptions {
            buffer_bytes,
            ..XdpRingOptions::default()
        };
        let too_large = RingOptionError::BufferTooLarge {
            bytes: buffer_bytes,
        };
        assert_eq!(refused(options), too_large);
    }
}

#[test]
fn memory_beyond_the_limit_of_locked_memory_is_refused() {
    if rerun::has_run_alone() {
        return;
    }
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let options = XdpRingOptions {
        buffer_bytes: 1 << 20,
        ..XdpRingOptions::default()
    };
    // The limit is that of the process. A privileged thread is above it.
    let before = getrlimit(Resource::Memlock);
    let low = Rlimit {
        current: Some(1 << 16),
        ..before
    };
    setrlimit(Resource::Memlock, low).unwrap();
    let told = without(&right, CapabilitySet::IPC_LOCK, || {
        XdpRing::open(&name, &options).unwrap_err().to_string()
    });
    setrlimit(Resource::Memlock, before).unwrap();
    assert_eq!(
        told,
        "cannot allocate the packet memory of right0 (the limit of locked memory is too low: \
         'ulimit -l unlimited', a smaller buffer, or CAP_IPC_LOCK)"
    );
}

#[track_caller]
fn attach_refusal(host: &Host, index: u32, place: XdpAttachMode) -> (Option<i32>, String) {
    let redirect = XskProgram::load(&XskProgramOptions::new(1)).unwrap();
    match host.run(|| XdpLink::attach(redirect.program(), index, place)) {
        Err(error) => {
            let text = error.to_string();
            (error.source.raw_os_error(), text)
        }
        Ok(link) => panic!("{link:?}"),
    }
}

#[test]
fn a_program_that_cannot_be_attached_says_what_to_do() {
    let [left, right] = Net::new().pair();
    let index = right.interface().index.0;

    let _steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, 256));
    let (code, text) = attach_refusal(&right, index, XdpAttachMode::Native);
    assert_eq!(code, Some(libc::EBUSY));
    assert!(text.contains("(tapline_xsk) is attached already"), "{text}");

    let (code, text) = attach_refusal(&left, 1, XdpAttachMode::Native);
    assert_eq!(code, Some(libc::EOPNOTSUPP));
    assert!(
        text.ends_with("(the driver does not support native XDP)"),
        "{text}"
    );

    // The limit of a veth is that of its peer.
    right.ip(&format!("link set {} mtu 9000", right.interface().name));
    let (code, text) = attach_refusal(&left, left.interface().index.0, XdpAttachMode::Native);
    assert_eq!(code, Some(libc::ERANGE));
    assert!(
        text.ends_with(
            "(the MTU of its other end right0, 9000, is too large for XDP in the driver: \
             'ip link set right0 mtu 3498' where that is)"
        ),
        "{text}"
    );
    let redirect = XskProgram::load(&XskProgramOptions {
        multi_buffer: true,
        ..XskProgramOptions::new(1)
    });
    drop(attach(&left, &redirect.unwrap(), XdpAttachMode::Native));
}

#[test]
fn a_loopback_receives_in_the_generic_place() {
    let host = Host::new("alone");
    let mut ring = host
        .run(|| XdpRing::open("lo", &XdpRingOptions::default()))
        .unwrap();
    assert!(ring.interface().loopback);
    let redirect = XskProgram::load(&XskProgramOptions {
        multi_buffer: true,
        ..XskProgramOptions::new(1)
    });
    let redirect = redirect.unwrap();
    redirect.insert(0, std::os::fd::AsFd::as_fd(&ring)).unwrap();
    let link = host
        .run(|| XdpLink::attach(redirect.program(), 1, XdpAttachMode::NativeOrGeneric))
        .unwrap();
    assert!(link.native_refusal().is_some());
    host.run(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .send_to(b"to the ring", socket.local_addr().unwrap())
            .unwrap();
    });
    let seen = support::collect(&mut ring, 1);
    assert!(seen[0].bytes.ends_with(b"to the ring"));
}
