//! What has to hold for every kind of object, whatever becomes of the kernel's answers.

use std::collections::HashSet;

use netlink::transport::{Fault, KernelSocket, RecordedDatagram, Recorder};
use netlink::{Cause, Event, ItemResult, Netlink, NetlinkError, Object, OnError, Watch};
use tapline_lab::Host;

use super::tape::{again, and_then_none, answers, at, listened, play, record, with_strays};

const FAULTS: [Fault; 3] = [Fault::Interrupted, Fault::Truncated, Fault::Overrun];

/// A change of an object.
type Change<O> = fn(&mut Netlink, &O) -> Result<(), NetlinkError>;

/// Everything of two objects that can be added and removed.
#[track_caller]
pub fn check<O: Object>(host: &Host, pair: &[O; 2]) {
    changes(host, pair);
    batch(host, pair);
    watch(host, pair);
    for object in pair {
        host.netlink().add(object).expect("added");
    }
    list::<O>(host);
}

/// A list is right, or says that it is not, or is an error.
#[track_caller]
pub fn list<O: Object>(host: &Host) {
    let kind = std::any::type_name::<O>();
    let filter = O::default();
    let (listing, datagrams) = record(host, |netlink| netlink.list(&filter));
    let expected = listing.expect("a list");
    assert!(
        !expected.items.is_empty() && !expected.interrupted,
        "{kind}"
    );
    let script = again(&datagrams, 0, 4);
    let last = answers(&datagrams);
    let under =
        |script: &[RecordedDatagram], faults| Netlink::over(play(script, faults)).list(&filter);

    for fault in FAULTS {
        for place in 0..last {
            match under(&script, at(place, fault)) {
                Ok(told) => assert_eq!(told, expected, "{kind}: {fault:?} at {place}"),
                // With the end of the list lost there is no answer to wait for.
                Err(error) => {
                    assert!(
                        fault != Fault::Interrupted && place + 1 == last,
                        "{error:?}"
                    );
                    assert_is_clear(&error);
                }
            }
            let mut count = 0;
            let mut netlink = Netlink::over(play(&script, at(place, fault)));
            match netlink.each(&filter, |_: &O| count += 1) {
                Ok(true) => panic!("{kind}: {fault:?} at {place} is not told"),
                Ok(false) => {}
                Err(error) => assert_is_clear(&error),
            }
        }
    }
    let never = under(&script, vec![Fault::Interrupted; 100]).expect("a list");
    assert_eq!((&never.items, never.interrupted), (&expected.items, true));
    for fault in [Fault::Truncated, Fault::Overrun] {
        assert_is_clear(&under(&script, vec![fault; 100]).expect_err("nothing came"));
    }
    // What comes late belongs to a question that was given up.
    assert_eq!(
        under(&with_strays(&datagrams), vec![]).expect("a list"),
        expected
    );
}

/// A change that was refused is never taken for done, and one that was done never for refused.
#[track_caller]
pub fn changes<O: Object>(host: &Host, [object, _]: &[O; 2]) {
    let add: Change<O> = |netlink, object| netlink.add(object);
    let del: Change<O> = |netlink, object| netlink.del(object);
    // The second time there is one already, or none any more.
    for (step, change) in [add, add, del, del].into_iter().enumerate() {
        let (done, datagrams) = record(host, |netlink| change(netlink, object));
        assert!(done.is_ok() || step % 2 == 1, "{step}: {done:?}");
        let refused = done.as_ref().err().and_then(NetlinkError::errno);
        for fault in FAULTS {
            for place in 0..answers(&datagrams) {
                let told = change(
                    &mut Netlink::over(play(&datagrams, at(place, fault))),
                    object,
                );
                match (&done, told) {
                    (Ok(()), Ok(())) => {}
                    (Err(_), Ok(())) => panic!("{object:?}, {step}: {fault:?} hides a refusal"),
                    (_, Err(error)) => {
                        let is_same = refused.is_some() && error.errno() == refused;
                        assert!(fault != Fault::Interrupted || is_same, "{error:?}");
                        assert_is_clear(&error);
                    }
                }
            }
        }
        let told = change(
            &mut Netlink::over(play(&with_strays(&datagrams), vec![])),
            object,
        );
        assert_eq!(told.is_ok(), done.is_ok(), "{step}: {told:?}");
    }
}

/// No item is taken for done that was not.
#[track_caller]
pub fn batch<O: Object>(host: &Host, [one, two]: &[O; 2]) {
    let talk = |netlink: &mut Netlink| {
        let mut batch = netlink.batch(OnError::Continue);
        batch.add(one).add(one).add(two).del(one).del(one).del(two);
        let outcome = batch.finish();
        let results = (0..6).filter_map(|item| outcome.result(item));
        let done = results.map(|result| matches!(result, ItemResult::Done));
        let done: Vec<bool> = done.collect();
        outcome
            .failed
            .iter()
            .for_each(|(_, error)| assert_is_clear(error));
        done
    };
    let (expected, datagrams) = record(host, talk);
    // To add again what is there is a change, for some.
    assert_eq!(
        [&expected[..1], &expected[2..4], &expected[5..]].concat(),
        [true; 4]
    );
    for fault in FAULTS {
        for place in 0..answers(&datagrams) {
            let told = talk(&mut Netlink::over(play(&datagrams, at(place, fault))));
            for (item, (told, expected)) in told.iter().zip(&expected).enumerate() {
                assert!(
                    *expected || !told,
                    "{one:?}, item {item}: {fault:?} at {place}"
                );
            }
            if fault == Fault::Interrupted {
                assert_eq!(told, expected);
            }
        }
    }
}

/// Whatever is lost, in the end a watch knows what is there.
#[track_caller]
fn watch<O: Object>(host: &Host, [one, two]: &[O; 2]) {
    let filter = O::default();
    let socket = host
        .run(|| KernelSocket::listen(O::GROUPS))
        .expect("a socket");
    let (recorder, notifications) = Recorder::new(socket);
    let (netlink, first) = listened(host);
    let mut watched = Watch::over(recorder, netlink, filter.clone()).expect("a watch");
    let first = {
        let datagrams = first.datagrams();
        let mut netlink = host.netlink();
        netlink.add(one).expect("added");
        netlink.add(two).expect("added");
        netlink.del(one).expect("removed");
        drain(&mut watched);
        datagrams
    };
    let (last, datagrams) = record(host, |netlink| netlink.list(&filter));
    let expected = keys(last.expect("a list").items.iter());
    assert_eq!(keys(watched.known()), expected, "without faults");
    host.netlink().del(two).expect("removed");

    let notifications = and_then_none(notifications.datagrams());
    let places = answers(&notifications);
    assert!(places >= 3, "{places} notifications of {one:?}");
    let script = [first, again(&datagrams, 1, 8)].concat();
    for fault in FAULTS {
        for place in 0..places {
            let netlink = Netlink::over(play(&script, vec![]));
            let notifications = play(&notifications, at(place, fault));
            let watched = Watch::over(notifications, netlink, filter.clone());
            let mut watched = watched.expect("a watch");
            let overruns = drain(&mut watched);
            assert_eq!(overruns, usize::from(fault != Fault::Interrupted));
            assert_eq!(keys(watched.known()), expected, "{fault:?} at {place}");
        }
    }
}

/// Takes all events, and counts the overruns among them.
#[track_caller]
fn drain<O: Object>(watch: &mut Watch<O>) -> usize {
    let mut overruns = 0;
    while let Some(event) = watch.try_next().expect("an event") {
        overruns += usize::from(event == Event::Overrun);
    }
    overruns
}

fn keys<'a, O: Object>(objects: impl Iterator<Item = &'a O>) -> HashSet<O::Key> {
    objects.filter_map(O::key).collect()
}

/// An error says what the system or the kernel said, or that there was no answer.
#[track_caller]
fn assert_is_clear(error: &NetlinkError) {
    let is_clear = matches!(
        error.cause,
        Cause::System { .. } | Cause::NoReply | Cause::Refused(_)
    );
    assert!(is_clear, "{error:?}");
    assert!(error.to_string().starts_with("cannot "), "{error}");
}
