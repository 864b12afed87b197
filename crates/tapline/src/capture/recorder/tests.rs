//! What triggers, and what is written then.

use super::super::account::loss_account::Lost;
use super::*;
use store::model;
use store::read::Reader;
use store::write::Output;

/// A recorder into a folder, without a time after triggers.
fn recorder(folder: &std::path::Path, change: impl FnOnce(&mut RecorderOptions)) -> Recorder {
    let interfaces = vec![Interface::new(store::model::LinkType::ETHERNET, 0)];
    let (folder, described) = (folder.to_owned(), interfaces.clone());
    let files = move |number: u64| {
        let path = folder.join(format!("{number}.pcapng"));
        let output = Output::Path(path);
        Ok(CaptureFileOptions::new(output, described.clone()))
    };
    let mut options = RecorderOptions::new(1 << 16, Box::new(files));
    change(&mut options);
    Recorder::new(options, &interfaces).unwrap()
}

fn account(delivered: u64, ring: u64) -> Account {
    Account {
        delivered,
        filtered: Some(0),
        sampled_out: Some(0),
        lost: Lost {
            ring,
            ..Lost::default()
        },
    }
}

fn times(path: &std::path::Path) -> Vec<u64> {
    let mut reader = Reader::open(path).unwrap();
    let mut times = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        times.extend(packet.timestamp_ns);
    }
    times
}

#[test]
fn a_loss_triggers_once_it_reaches_the_threshold() {
    const SECOND: u64 = 1_000_000_000;
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = recorder(folder.path(), |options| options.trigger_loss = Some(10));
    for (second, lost, files) in [(1, 50, 0), (2, 59, 0), (3, 69, 1), (4, 70, 1), (5, 80, 2)] {
        let at = second * SECOND;
        let packet = model::Packet::new(at - 1, &[0; 60]);
        recorder.packet(&Packet::from(packet)).unwrap();
        recorder.tick(at, &account(second, lost)).unwrap();
        assert_eq!(recorder.files().len(), files, "{second}");
    }
    recorder.finish(&[]).unwrap();
    let [first, second] = recorder.files() else {
        panic!("{:?}", recorder.files());
    };
    let expected = |seconds: &[u64]| seconds.iter().map(|at| at * SECOND - 1).collect::<Vec<_>>();
    assert_eq!(times(first), expected(&[1, 2, 3]));
    assert_eq!(times(second), expected(&[4, 5]));
    assert_eq!(recorder.packets_written(), 5);
}

#[test]
fn what_triggers_one_of_several_recorders_triggers_all() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut both = folders.each_ref().map(|folder| {
        recorder(folder.path(), |options| {
            let names = Arc::new(filter::NoNames);
            options.trigger = Some(Expression::new("less 60", names));
        })
    });
    Recorder::trigger_together(&mut both);
    let [one, other] = &mut both;
    let packet = |time, len| Packet::from(model::Packet::new(time, &[0; 61][..len]));
    other.packet(&packet(1, 61)).unwrap();
    one.packet(&packet(2, 60)).unwrap();
    other.idle(3).unwrap();
    for recorder in &mut both {
        recorder.finish(&[]).unwrap();
    }
    assert_eq!(
        both.each_ref().map(|one| times(&one.files()[0])),
        [[2], [1]]
    );
}

#[test]
fn packets_older_than_kept_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Duration::from_nanos(100);
    let mut recorder = recorder(folder.path(), |options| options.keep = Some(keep));
    for time in [0, 100, 199, 200, 250] {
        let packet = model::Packet::new(time, &[0; 60]);
        recorder.packet(&Packet::from(packet)).unwrap();
    }
    recorder.trigger().trigger();
    recorder.idle(300).unwrap();
    recorder.finish(&[]).unwrap();
    assert_eq!(times(&recorder.files()[0]), [200, 250]);
}
