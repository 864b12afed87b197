//! Frames of several buffers in drop mode: whole, or cut where it was asked for.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::support::{DEADLINE, frames, number, run, send};
use lab::{Host, Net};
use tapline::Packet;
use tapline::capture::{
    Account, Backend, CaptureOptions, Consumer, ConsumerError, Limits, Mode, XdpAttachMode,
};

/// Keeps the packets, with the length that each had, and tells how many there are.
struct Keeper {
    kept: Vec<(u32, Vec<u8>)>,
    received: Sender<u64>,
}

impl Keeper {
    fn new() -> (Self, Receiver<u64>) {
        let (received, told) = channel();
        let kept = Vec::new();
        (Self { kept, received }, told)
    }
}

impl Consumer for Keeper {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.kept
            .push((packet.record().original_len, packet.data().to_vec()));
        Ok(())
    }

    fn tick(&mut self, _now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        // A test that has heard enough has gone.
        let _ = self.received.send(account.received().unwrap());
        Ok(())
    }
}

fn set_mtu(hosts: &[Host], mtu: &str) {
    for host in hosts {
        let name = host.interface().name.to_string();
        let mut command = host.command("ip");
        let status = command.args(["link", "set", &name, "mtu", mtu]).status();
        assert!(status.unwrap().success());
    }
}

/// A buffer has 4096 bytes, of which 3840 are the packet's.
const LENGTHS: [usize; 8] = [60, 3839, 3840, 3841, 9014, 1514, 7681, 14];

#[test]
fn frames_of_several_buffers_are_whole_or_cut_to_the_snaplen() {
    let ways = [
        (262_144, None),
        (9014, None),
        (9013, None),
        (5000, None),
        (3841, None),
        (3840, None),
        (1000, None),
        (96, Some(Backend::Xdp)),
        (96, None),
        (1, Some(Backend::Xdp)),
    ];
    for place in [XdpAttachMode::Native, XdpAttachMode::Generic] {
        for (snaplen, backend) in ways {
            let hosts = Net::new().pair();
            set_mtu(&hosts, "9000");
            let [left, right] = &hosts;
            let wanted = CaptureOptions::default()
                .links(vec![right.interface().name.to_string()])
                .mode(Mode::Drop)
                .xdp(place)
                .backend(backend)
                .snaplen(snaplen)
                .buffer_bytes(4 << 20)
                .limits(Limits {
                    packets: None,
                    duration: Some(DEADLINE),
                })
                .tick(Duration::from_millis(5));
            let frame = |length: usize| {
                let mut frame = frames(7, 1).remove(0);
                frame.resize(length, 0xa5);
                frame
            };
            let sent = LENGTHS.map(frame);
            let (mut keeper, told) = Keeper::new();
            let (outcome, ()) = run(right, wanted, &mut keeper, |stopper| {
                for _ in 0..10 {
                    send(left, &sent);
                }
                let all = 10 * sent.len() as u64;
                while told.recv_timeout(DEADLINE).expect("the account grows") < all {}
                stopper.stop();
            });
            let all = 10 * sent.len();
            let account = outcome.account;
            assert_eq!(account.received(), Some(all as u64), "{outcome:?}");
            assert_eq!((account.delivered, account.lost.total()), (all as u64, 0));
            for ((length, bytes), sent) in keeper.kept.iter().zip(sent.iter().cycle()) {
                assert_eq!(*length as usize, sent.len());
                assert_eq!(*bytes, sent[..sent.len().min(snaplen as usize)]);
                assert!(bytes.len() < 18 || number(bytes) == 7);
            }
        }
    }
}
