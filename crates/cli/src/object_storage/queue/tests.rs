use std::sync::Arc;
use std::thread;

use super::*;
use crate::object_storage::uploader::EndedOnDrop;

fn file(name: &str, bytes: u64) -> Waiting {
    Waiting {
        path: name.into(),
        bytes,
        rows: Some(bytes / 10),
    }
}

fn queue(when_full: WhenFull, found: Vec<Waiting>) -> Queue {
    let limits = Limits {
        bytes: 100,
        wait: Duration::ZERO,
        when_full,
    };
    Queue::new(limits, found, 0)
}

fn failure(text: &str) -> UploadFailure {
    UploadFailure {
        text: text.into(),
        kind: FailureKind::Passing,
    }
}

fn refusal(text: &str) -> UploadFailure {
    UploadFailure {
        kind: FailureKind::OfFile,
        ..failure(text)
    }
}

/// The next file, without pauses.
fn next(queue: &Queue) -> Option<Waiting> {
    queue.next(Duration::ZERO, &|_| Duration::ZERO)
}

fn names(files: &[Waiting]) -> Vec<&str> {
    files.iter().filter_map(|file| file.path.to_str()).collect()
}

#[test]
fn a_full_spool_gives_up_the_oldest_files() {
    let queue = queue(WhenFull::GiveUp, vec![file("a", 40)]);
    assert!(queue.add(file("b", 40)).expect("room").is_empty());
    // The one that is uploaded stays.
    assert_eq!(next(&queue), Some(file("a", 40)));
    let given_up = queue.add(file("c", 50)).expect("given up");
    assert_eq!(names(&given_up), ["b"]);
    let given_up = queue.add(file("d", 90)).expect("given up");
    assert_eq!(names(&given_up), ["d"]);
    queue.uploaded();
    let account = queue.account();
    assert_eq!((account.given_up.files, account.given_up.bytes), (2, 130));
    assert_eq!(account.given_up_rows, Some(13));
    assert_eq!((account.uploaded.bytes, account.waiting.bytes), (40, 50));
}

#[test]
fn rows_of_an_earlier_run_are_unknown() {
    let mut earlier = file("a", 40);
    earlier.rows = None;
    let queue = queue(WhenFull::GiveUp, vec![earlier]);
    let given_up = queue.add(file("b", 90)).expect("given up");
    assert_eq!(names(&given_up), ["a"]);
    assert_eq!(queue.account().given_up_rows, None);
}

#[test]
fn a_job_that_may_wait_loses_nothing() {
    let queue = queue(WhenFull::Wait, Vec::new());
    // Larger than the spool, which is empty.
    assert!(queue.add(file("a", 200)).expect("room").is_empty());
    next(&queue);
    queue.failed(failure("away"));
    let error = queue.add(file("b", 1)).expect_err("full");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    let account = queue.account();
    assert_eq!((account.given_up.files, account.waiting.files), (0, 2));
}

#[test]
fn a_file_that_failed_is_the_next_one_and_reported_once() {
    let queue = queue(WhenFull::GiveUp, vec![file("a", 1), file("b", 1)]);
    for (text, is_news) in [("away", true), ("away", false), ("denied", true)] {
        assert_eq!(next(&queue), Some(file("a", 1)));
        assert_eq!(queue.failed(failure(text)), is_news);
    }
    next(&queue);
    assert!(queue.uploaded());
    next(&queue);
    assert!(!queue.uploaded());
    let (account, reason) = queue.finish();
    assert_eq!((account.uploaded.files, account.failures), (2, 3));
    assert_eq!(reason, None);
    assert_eq!(next(&queue), None);
}

#[test]
fn a_file_that_is_refused_does_not_hold_up_others() {
    let queue = queue(WhenFull::GiveUp, vec![file("a", 10), file("b", 10)]);
    // The reason is reported once. The service itself works.
    for (name, text, is_news) in [("a", "denied", true), ("b", "denied", false)] {
        assert_eq!(next(&queue), Some(file(name, 10)));
        assert_eq!(queue.failed(refusal(text)), is_news);
    }
    queue.add(file("c", 10)).expect("room");
    assert_eq!(next(&queue), Some(file("c", 10)));
    assert!(!queue.uploaded());
    // Nothing else waits: they are tried again, the one after the other.
    for name in ["a", "b", "a"] {
        assert_eq!(next(&queue), Some(file(name, 10)));
        queue.failed(refusal("denied"));
    }
    // They are the oldest still.
    assert_eq!(names(&queue.add(file("d", 90)).expect("given up")), ["a"]);
    assert_eq!(next(&queue), Some(file("d", 90)));
}

#[test]
fn a_refused_file_is_tried_again_after_its_pause_unless_another_comes() {
    let queue = queue(WhenFull::GiveUp, vec![file("a", 10)]);
    next(&queue);
    queue.failed(refusal("denied"));
    std::thread::scope(|scope| {
        let hours = |refusals: u32| Duration::from_hours(refusals.into());
        let waits = scope.spawn({
            let queue = &queue;
            move || queue.next(Duration::ZERO, &hours)
        });
        queue.add(file("b", 10)).expect("room");
        assert_eq!(waits.join().expect("no panic"), Some(file("b", 10)));
    });
}

#[test]
fn the_end_waits_for_files_behind_refused_ones() {
    let found = ["a", "b", "c", "d"].map(|name| file(name, 10));
    let queue = queue(WhenFull::GiveUp, found.into());
    for _ in 0..2 {
        next(&queue);
        queue.failed(refusal("denied"));
    }
    std::thread::scope(|scope| {
        let end = scope.spawn(|| queue.finish());
        while !end.is_finished() {
            let file = next(&queue).expect("two are left");
            if names(&[file]) < vec!["c"] {
                queue.failed(refusal("denied"));
            } else {
                queue.uploaded();
            }
        }
        let (account, reason) = end.join().expect("no panic");
        assert_eq!((account.uploaded.files, account.waiting.files), (2, 2));
        assert_eq!(reason.as_deref(), Some("denied"));
    });
}

/// A thread that panics, as the client of object storage does on odd values.
#[test]
fn the_end_of_the_thread_that_uploads_ends_every_wait() {
    let queue = Arc::new(queue(WhenFull::Wait, vec![file("a", 90)]));
    let uploader = Arc::clone(&queue);
    let ended = thread::spawn(move || {
        let _ending = EndedOnDrop(Arc::clone(&uploader));
        next(&uploader);
        panic!("an odd value");
    });
    ended.join().expect_err("it panics");
    let reason = "the thread that uploads has ended";
    let error = queue.add(file("b", 20)).expect_err("nobody makes room");
    assert!(error.to_string().ends_with(reason), "{error}");
    let (account, why) = queue.finish();
    assert_eq!((account.waiting.files, account.failures), (2, 1));
    assert_eq!(why.as_deref(), Some(reason));
}

#[test]
fn the_reason_of_the_last_failure_stays_if_all_files_were_given_up() {
    let queue = queue(WhenFull::GiveUp, vec![file("a", 10)]);
    next(&queue);
    queue.failed(failure("away"));
    for _ in 0..2 {
        queue.add(file("b", 100)).expect("given up");
    }
    // Larger than the spool.
    queue.add(file("c", 101)).expect("given up");
    next(&queue);
    queue.vanished();
    let (account, reason) = queue.finish();
    assert_eq!((account.waiting.files, account.given_up.files), (0, 4));
    assert_eq!(reason.as_deref(), Some("away"));
}

#[test]
fn a_failed_check_is_the_reason_until_an_upload_succeeds() {
    let queue = queue(WhenFull::GiveUp, vec![file("a", 10)]);
    assert!(queue.check_failed(failure("away")));
    next(&queue);
    // It has been reported.
    assert!(!queue.failed(failure("away")));
    next(&queue);
    assert!(queue.uploaded());
    // Credentials that may write alone do not hold up anything.
    assert!(queue.check_failed(refusal("denied")));
    queue.add(file("b", 10)).expect("room");
    next(&queue);
    assert!(!queue.uploaded());
    assert_eq!(queue.account().failures, 1);
}

#[test]
fn trouble_that_lasts_ends_the_wait() {
    let queue = queue(WhenFull::Wait, vec![file("a", 10), file("b", 10)]);
    next(&queue);
    queue.failed(UploadFailure {
        kind: FailureKind::Lasting,
        ..failure("no bucket")
    });
    let error = queue.add(file("c", 100)).expect_err("full");
    assert!(error.to_string().ends_with(": no bucket"), "{error}");
}
