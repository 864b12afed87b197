//! Errors when opening a ring, and kernel events that end it.

use crate::support;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::support::{
    BACKENDS, BROADCAST, DEADLINE, bytes_of, collect, frame, open, options, send,
};
use lab::{Host, Net};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tapline_ring::{
    DeliveryMode, PacketRing, RingOpenError, RingOptionError, RingOptions, SetupStep,
    TimestampSource, TpacketVersion,
};

/// Returns the failing step and the kernel's error.
#[track_caller]
fn refusal(host: &Host, link: &str, options: &RingOptions) -> (SetupStep, Option<i32>) {
    match host.run(|| PacketRing::open(link, options)) {
        Err(RingOpenError::Setup(error)) => {
            assert_eq!(error.link, link);
            (error.step, error.source.raw_os_error())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unknown_interface_is_not_found() {
    let host = Host::new("alone");
    for version in BACKENDS {
        for link in [
            "nowhere0",
            "",
            "a-name-of-more-than-15-letters",
            "lo ",
            "LO",
        ] {
            let answer = refusal(&host, link, &options(version));
            assert_eq!(
                answer,
                (SetupStep::Interface, Some(libc::ENODEV)),
                "{link:?}"
            );
        }
    }
}

#[test]
fn without_the_privilege_there_is_no_socket() {
    let host = Host::new("alone");
    for version in BACKENDS {
        // The thread ends with the job, and its privileges with it.
        let opened = host.run(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::NET_RAW);
            set_capabilities(None, sets).unwrap();
            PacketRing::open("lo", &options(version))
        });
        match opened {
            Err(RingOpenError::Setup(error)) => {
                assert_eq!(error.step, SetupStep::Socket);
                assert_eq!(error.source.raw_os_error(), Some(libc::EPERM));
                assert_eq!(error.to_string(), "cannot open a packet socket for lo");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_interface_that_is_down_cannot_be_received_from() {
    for version in BACKENDS {
        let [left, _right] = Net::new().pair();
        let name = left.interface().name.to_string();
        left.ip(&format!("link set {name} down"));
        let answer = refusal(&left, &name, &options(version));
        assert_eq!(answer, (SetupStep::Bind, Some(libc::ENETDOWN)));
    }
}

#[test]
fn hardware_time_stamps_need_the_clock_that_is_named() {
    for version in BACKENDS {
        let [left, _right] = Net::new().pair();
        let name = left.interface().name.to_string();
        let clock = RingOptions {
            timestamps: TimestampSource::Hardware,
            device_clock: Some(u32::MAX),
            ..options(version)
        };
        let answer = refusal(&left, &name, &clock);
        assert_eq!(answer, (SetupStep::Timestamps, Some(libc::ENOENT)));
    }
}

#[test]
fn options_that_cannot_be_are_refused_before_the_kernel_is_asked() {
    let refused = |options: RingOptions| match PacketRing::open("nowhere0", &options) {
        Err(RingOpenError::Option(error)) => error,
        other => panic!("{other:?}"),
    };
    let batch = |timeout| DeliveryMode::Batch {
        min_bytes: 1,
        timeout,
    };
    for version in BACKENDS {
        let snaplen = 0;
        assert_eq!(
            refused(RingOptions {
                snaplen,
                ..options(version)
            }),
            RingOptionError::SnaplenZero
        );
        let buffer_bytes = usize::MAX;
        assert_eq!(
            refused(RingOptions {
                buffer_bytes,
                ..options(version)
            }),
            RingOptionError::BufferTooLarge { bytes: usize::MAX }
        );
    }
    let v3 = options(TpacketVersion::V3);
    let delivery = DeliveryMode::Immediate;
    assert_eq!(
        refused(RingOptions { delivery, ..v3 }),
        RingOptionError::ImmediateNeedsV2
    );
    for timeout in [
        Duration::ZERO,
        Duration::from_micros(999),
        Duration::from_micros(65_535_001),
        Duration::MAX,
    ] {
        let delivery = batch(timeout);
        assert_eq!(
            refused(RingOptions {
                delivery,
                ..options(TpacketVersion::V3)
            }),
            RingOptionError::Timeout { timeout }
        );
    }
    let [left, _right] = Net::new().pair();
    for timeout in [Duration::from_millis(1), Duration::from_millis(65_535)] {
        open(
            &left,
            &RingOptions {
                delivery: batch(timeout),
                ..options(TpacketVersion::V3)
            },
        );
    }
}

/// Waits until the descriptor reports an error.
#[track_caller]
fn until_broken(ring: &PacketRing) {
    let timeout = Timespec::try_from(DEADLINE).unwrap();
    // Errors need no flag: they are always reported.
    let mut descriptors = [PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::empty())];
    assert_eq!(poll(&mut descriptors, Some(&timeout)).unwrap(), 1);
    assert!(descriptors[0].revents().contains(PollFlags::ERR));
}

#[test]
fn an_interface_that_goes_down_is_reported_once_and_what_came_before_stays() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &options(version));
        assert!(ring.take_error().is_ok());
        send(&left, &[frame(BROADCAST, 60)]);
        support::wait(&ring);
        right.ip(&format!("link set {} down", right.interface().name));
        until_broken(&ring);
        let error = ring.take_error().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN));
        assert!(ring.take_error().is_ok());
        assert_eq!(bytes_of(collect(&mut ring, 1)), [frame(BROADCAST, 60)]);
        assert!(ring.refresh().is_ok());
        assert_eq!(
            (ring.counters().accepted, ring.counters().waiting()),
            (1, 0)
        );

        // The socket stays bound: packets come again when the interface is up again.
        right.ip(&format!("link set {} up", right.interface().name));
        send(&left, &[frame(BROADCAST, 61)]);
        assert_eq!(bytes_of(collect(&mut ring, 1)), [frame(BROADCAST, 61)]);
    }
}

#[test]
fn an_interface_that_is_removed_is_reported_and_what_came_before_stays() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &options(version));
        send(&left, &[frame(BROADCAST, 60)]);
        support::wait(&ring);
        right.ip(&format!("link del {}", right.interface().name));
        until_broken(&ring);
        let error = ring.take_error().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN));
        assert_eq!(bytes_of(collect(&mut ring, 1)), [frame(BROADCAST, 60)]);
        assert!(ring.refresh().is_ok());
        assert!(ring.stop().is_ok());
        assert!(ring.next_batch().is_none());
    }
}
