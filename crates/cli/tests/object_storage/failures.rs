//! Object storage that cannot be used, and settings and uses that are refused.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use lab::wait;
use serde_json::json;

use crate::support::files::capture;
use crate::support::frames::udp;
use crate::support::objects::{
    Https, KEY_ID, SECRET, Server, command, command_to, denying_port, listing_port, losing_port,
    spooled, start,
};
use crate::support::run::{Ended, spawn};
use crate::support::{Scene, assert_refused, number};

/// Runs `read` of a small capture into a bucket, without patience. Returns what it says, which has no credentials.
#[track_caller]
pub fn read_to(scene: &Scene, place: &str, flags: &str) -> Ended {
    let file = capture("icmpv6.pcap");
    let line = format!("read {file} -w {place} --spool-wait 0s {flags}");
    let ended = spawn(command(scene, &line)).finish();
    assert_no_credentials(&ended);
    ended
}

#[track_caller]
fn assert_no_credentials(ended: &Ended) {
    let said = format!("{ended:?}");
    for secret in [KEY_ID, SECRET] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn an_unreachable_bucket_leaves_the_files_in_the_spool() {
    let scene = Scene::new();
    let ended = read_to(&scene, "s3://logs/a.parquet", "");
    let root = scene.file("spool/s3/logs");
    assert_eq!(
        ended.exit(1),
        format!(
            "cannot upload all files to s3://logs/a.parquet: Connection refused (1 file waits in {root}, and the next run uploads it)"
        )
    );
    assert_eq!(spooled(&scene, false), ["a.parquet"]);
    let server = Server::start(&scene.right, scene.folder.path());
    read_to(&scene, "s3://logs/b.parquet", "").exit(0);
    assert_eq!(server.keys(), ["a.parquet", "b.parquet"]);
}

#[test]
fn a_missing_bucket_is_named() {
    let scene = Scene::new();
    let _server = Server::start(&scene.right, scene.folder.path());
    let ended = read_to(&scene, "s3://nobodys/a.parquet", "");
    let line = ended.exit(1);
    assert!(
        line.contains(
            "the service answered 404 NoSuchBucket (does the bucket or container exist?)"
        ),
        "{line}"
    );
}

#[test]
fn wrong_credentials_are_refused_and_not_printed() {
    let scene = Scene::new();
    let _server = Server::that_denies(&scene.right, scene.folder.path());
    for flags in ["", "--json", "--no-sandbox"] {
        let ended = read_to(&scene, "s3://logs/a.parquet", flags);
        let line = ended.exit(1);
        assert!(
            line.contains("the service answered 403 InvalidAccessKeyId (check the credentials and their permissions)"),
            "{line}"
        );
    }
    // Nor are they in the spool.
    for name in spooled(&scene, true).iter().chain(&spooled(&scene, false)) {
        let bytes = fs::read(scene.file(&format!("spool/s3/logs/{name}"))).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET) && !text.contains(KEY_ID), "{name}");
    }
}

#[test]
fn a_private_authority_is_trusted_if_a_variable_names_it() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let https = Https::start(&scene);
    let file = capture("icmpv6.pcap");
    let run = |host: &str, authority: Option<&str>| {
        let line = format!("read {file} -w s3://logs/a.parquet --spool-wait 0s");
        let mut command = command(&scene, &line);
        command.env("AWS_ENDPOINT_URL", format!("https://{host}:{}", https.port));
        command.env_remove("AWS_ALLOW_HTTP");
        command.envs(authority.map(|file| ("SSL_CERT_FILE", file)));
        spawn(command).finish()
    };
    for (host, authority, reason) in [
        (
            "localhost",
            None,
            "has an unknown issuer (SSL_CERT_FILE names the certificates of a private authority)",
        ),
        (
            "127.0.0.1",
            Some(&*https.authority),
            "is for another host (check the endpoint)",
        ),
    ] {
        let ended = run(host, authority);
        let complaint = format!(
            "cannot upload all files to s3://logs/a.parquet: the certificate of the service {reason} (1 file waits in {}, and the next run uploads it)",
            scene.file("spool/s3/logs")
        );
        assert_eq!(ended.exit(1), complaint);
    }
    assert!(server.keys().is_empty());
    run("localhost", Some(&https.authority)).exit(0);
    assert_eq!(server.keys(), ["a.parquet"]);
}

#[test]
fn files_that_cannot_be_uploaded_do_not_hold_up_others() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let port = denying_port(&scene.right, "/logs/teama/");
    // What earlier runs left: of another team, and of nobody.
    let root = PathBuf::from(scene.file("spool/s3/logs"));
    fs::create_dir_all(root.join("teamA")).expect("the spool");
    let odd = OsStr::from_bytes(b"odd\xff.parquet");
    for name in [
        OsStr::new("teamA/a.parquet"),
        OsStr::new("teamA/b.parquet"),
        odd,
    ] {
        fs::write(root.join(name), "rows").expect("a file");
    }
    let line = "flows -i right0 --json --direction in --idle 10ms -w s3://logs/teamB --partition=one --rotate-interval 200ms --spool-wait 0s udp";
    let mut running = spawn(command_to(&scene, port, line));
    running.ready();
    // One for each reason.
    let mut warnings = [running.error_line(), running.error_line()];
    warnings.sort();
    for (warning, texts) in warnings.iter().zip([
        ["/odd", "its name is not UTF-8; it waits, and others go first"],
        [
            "/teamA/",
            "the service answered 403 AccessDenied (check the credentials and their permissions); it waits, and others go first",
        ],
    ]) {
        let has_all = texts.iter().all(|text| warning.contains(text));
        assert!(has_all, "{texts:?} in {warning}");
    }
    wait::until("a file is uploaded", || {
        scene.send(&[udp(b"hello")]);
        !server.keys().is_empty()
    });
    let ended = running.stop();
    let line = ended.exit(1);
    assert!(line.contains("(3 files wait in "), "{line}");
    let summary = ended.events().pop().expect("a summary");
    let uploads = &summary["columns"]["uploads"];
    let keys = server.keys();
    assert!(keys.iter().all(|key| key.starts_with("teamB/")), "{keys:?}");
    assert_eq!(keys.len() as u64, number(uploads, "uploaded_files"));
    assert_eq!(keys.len() as u64, number(&summary["columns"], "files"));
    // Whoever may write there uploads them.
    fs::remove_file(root.join(odd)).expect("removed");
    read_to(&scene, "s3://logs/teamB/d.parquet", "").exit(0);
    let keys = server.keys();
    assert!(
        keys.iter().filter(|key| key.starts_with("teamA/")).count() == 2,
        "{keys:?}"
    );
}

/// A directory has the name of the journal, which cannot be written then, as on a full disk.
#[test]
fn a_file_of_several_parts_is_uploaded_without_a_journal() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let root = PathBuf::from(scene.file("spool/s3/logs"));
    fs::create_dir_all(root.join(".large.parquet.upload")).expect("the spool");
    let rows = large_file();
    fs::write(root.join("large.parquet"), &rows).expect("a file");
    read_to(&scene, "s3://logs/small.parquet", "").exit(0);
    assert!(server.get("large.parquet") == rows);
}

#[test]
fn a_lost_answer_at_the_end_of_an_upload_is_no_failure() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let port = losing_port(&scene.right, "?uploadid=");
    let root = PathBuf::from(scene.file("spool/s3/logs"));
    fs::create_dir_all(&root).expect("the spool");
    let rows = large_file();
    fs::write(root.join("large.parquet"), &rows).expect("a file");
    let file = capture("dns_tcp_8053.pcap");
    let line = format!("read {file} -w s3://logs/small.parquet");
    let ended = spawn(command_to(&scene, port, &line)).finish();
    ended.exit(0);
    assert!(server.get("large.parquet") == rows);
    // The upload that was complete is unknown, and the file is uploaded again.
    assert_eq!(server.requests("?uploads"), 2, "{ended:?}");
}

/// More than a part of an upload has.
fn large_file() -> Vec<u8> {
    (0..9_000_000_u32)
        .map(|number| number.to_le_bytes()[1])
        .collect()
}

#[test]
fn settings_that_cannot_be_used_are_refused_and_not_printed() {
    let scene = Scene::new();
    let file = capture("icmpv6.pcap");
    let run = |variables: &[(&str, &str)]| {
        let line = format!("read {file} -w s3://logs/a.parquet --spool-wait 0s");
        let mut command = command(&scene, &line);
        command.envs(variables.iter().copied());
        let ended = spawn(command).finish();
        assert_no_credentials(&ended);
        ended
    };
    let plain = run(&[("AWS_ALLOW_HTTP", "false")]);
    let line = plain.exit(1);
    assert!(line.contains("the endpoint is not HTTPS"), "{line}");
    let odd = run(&[("AWS_ALLOW_HTTP", SECRET), ("AWS_SESSION_TOKEN", SECRET)]);
    assert!(odd.exit(1).contains("cannot use s3://logs/a.parquet: "));
    let nowhere = run(&[("AWS_ENDPOINT_URL", "https://127.0.0.1:9")]);
    assert!(nowhere.exit(1).contains("Connection refused"));
    // What no request can carry.
    let line_break = format!("{SECRET}\n");
    for (name, value) in [
        ("AWS_ENDPOINT_URL", "127.0.0.1:9000"),
        ("AWS_ENDPOINT_URL", "localhost:9000"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1 :9000"),
        ("AWS_METADATA_ENDPOINT", "169.254.169.254"),
        ("AWS_SESSION_TOKEN", &line_break),
        ("AWS_ACCESS_KEY_ID", &line_break),
        ("AWS_SECRET_ACCESS_KEY", "\u{7f}"),
    ] {
        let refused = run(&[(name, value)]);
        let line = refused.refusal(2);
        let start = format!("cannot use s3://logs/a.parquet: {name} ");
        assert!(line.starts_with(&start), "{line}");
    }
    // As if it were not set: the service itself, which is not reached from here.
    let empty = run(&[("AWS_ENDPOINT_URL", "")]);
    let line = empty.exit(1);
    assert!(line.starts_with("cannot upload all files to "), "{line}");
}

/// Files are complete on the hour; what is wrong shows at the start. The unit of systemd has `--quiet`.
#[test]
fn an_unusable_bucket_is_reported_at_the_start() {
    let scene = Scene::new();
    let first_warning = |place: &str, with_credentials: bool| {
        let line = format!("flows -i right0 --json --quiet -w {place} --partition --spool-wait 0s");
        let mut command = command(&scene, &line);
        if !with_credentials {
            for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
                command.env_remove(name);
            }
        }
        let mut running = spawn(command);
        let start = running.ready();
        let warning = running.error_line();
        let ended = running.stop();
        ended.exit(0);
        assert_no_credentials(&ended);
        (start, warning)
    };
    let (start, warning) = first_warning("s3://logs/table", true);
    let root = scene.file("spool/s3/logs");
    assert_eq!(
        warning,
        format!(
            "warning: cannot upload to s3://logs/table: Connection refused; files wait in {root}"
        )
    );
    assert_eq!(
        start["uploads"],
        json!({"url": "s3://logs/table", "spool": root})
    );
    let (_, warning) = first_warning("s3://logs/table", false);
    assert!(
        warning.contains("; no credentials are set (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), only those of this machine are used"),
        "{warning}"
    );
    let server = Server::start(&scene.right, scene.folder.path());
    let (_, warning) = first_warning("s3://nobodys/table", true);
    assert!(warning.contains("404 NoSuchBucket"), "{warning}");
    assert_eq!(server.requests("max-keys=1"), 1);
    drop(server);
    let _server = Server::that_denies(&scene.right, scene.folder.path());
    let (_, warning) = first_warning("s3://logs/table", true);
    assert!(
        warning.starts_with(
            "warning: cannot list s3://logs/table: the service answered 403 InvalidAccessKeyId"
        ),
        "{warning}"
    );
}

#[test]
fn permissions_for_the_prefix_that_is_used_are_enough() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let file = capture("icmpv6.pcap");
    for (place, prefix, listed) in [
        ("s3://logs/team/a.parquet", "team/a.parquet", 1),
        ("s3://logs/team/table --partition=one", "team/table/", 2),
    ] {
        let port = listing_port(&scene.right, prefix);
        let line = format!("read {file} -w {place} --spool-wait 0s");
        let ended = spawn(command_to(&scene, port, &line)).finish();
        ended.exit(0);
        assert!(!format!("{ended:?}").contains("cannot list"), "{ended:?}");
        // It did list, before it uploaded.
        assert_eq!(server.requests("max-keys=1"), listed);
    }
}

#[test]
fn the_start_says_where_files_go_and_wait() {
    let scene = Scene::new();
    let _server = Server::start(&scene.right, scene.folder.path());
    let mut running = start(&scene, "flows -i right0 -w s3a://logs/table --partition");
    let root = scene.file("spool/s3/logs");
    let uploads = format!("uploads to s3://logs/table, files wait in {root}");
    while running.error_line() != uploads {}
    running.stop().exit(0);
}

/// Without credentials, tapline asks for those of the machine, and nothing is sent to the bucket.
#[test]
fn missing_credentials_are_named() {
    let scene = Scene::new();
    let file = capture("icmpv6.pcap");
    let run = |variables: &[(&str, &str)]| {
        let line = format!("read {file} -w s3://logs/a.parquet --spool-wait 0s");
        let mut command = command(&scene, &line);
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        spawn(command).finish()
    };
    let server = Server::start(&scene.right, scene.folder.path());
    let line = run(&[]).exit(1).to_owned();
    assert!(
        line.contains("; no credentials are set (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"),
        "{line}"
    );
    assert_eq!(server.requests("a.parquet"), 0);
    let instance = run(&[("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")]);
    assert!(
        instance.exit(1).contains("Connection refused"),
        "{instance:?}"
    );
    run(&[("AWS_SKIP_SIGNATURE", "true")]).exit(0);
    assert_eq!(server.keys(), ["a.parquet"]);
}

#[test]
fn wrong_uses_are_refused() {
    let scene = Scene::new();
    let file = capture("icmpv6.pcap");
    assert_refused(
        |line| scene.run(line),
        &[
            (
                &format!("read {file} -w s3://logs --format parquet"),
                2,
                "the key is missing (or use --partition)",
            ),
            (
                &format!("read {file} -w s3:///a.parquet"),
                2,
                "use s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY",
            ),
            (
                &format!("flows {file} -w https://logs.s3.amazonaws.com/a.parquet"),
                2,
                "the scheme of the URL is none of s3, s3a, gs, az, abfs and abfss",
            ),
            (
                "capture -i right0 -w hdfs://logs/a.pcapng",
                2,
                "the scheme of the URL is none of",
            ),
            (
                &format!("flows {file} -w gs://logs/../a.parquet"),
                2,
                "no part of a key may be empty or begin with a dot",
            ),
            (
                &format!("flows {file} -w s3://name:word@logs/a.parquet"),
                2,
                "tapline: cannot write to object storage: credentials are taken from the environment, not from the URL",
            ),
            (
                &format!("flows {file} -w table --partition --spool spool"),
                2,
                "--spool is for s3://, gs:// and az://",
            ),
            (
                &format!("read {file} -w a.parquet --spool-limit 1M"),
                2,
                "--spool-limit is for s3://, gs:// and az://",
            ),
            (
                &format!("read {file} -w a.pcapng --spool-wait 1m"),
                2,
                "--spool-wait is for s3://, gs:// and az://",
            ),
            (
                &format!("read {file} -w s3://logs/a.pcapng"),
                2,
                "object storage takes Parquet and Arrow",
            ),
            (
                "capture -i right0 -w s3://logs/a.pcapng",
                2,
                "object storage takes Parquet and Arrow",
            ),
            (
                &format!("read {file} -w s3://logs/a.parquet --spool /dev/null/spool"),
                1,
                "(--spool DIR chooses another one)",
            ),
        ],
    );
    assert!(scene.listed().is_empty(), "{:?}", scene.listed());
}
