//! TLS secrets in capture files, from a key log that grows during a capture and from one that is added later. tshark
//! decrypts a real session of openssl.

use std::fmt::Write;
use std::fs;

use serde_json::json;

use crate::support::blocks::lines;
use crate::support::run::{Running, spawn};
use crate::support::{Scene, assert_has, assert_refused, ip, tool};

/// What the client asks for, and nobody can read in the packets.
const PAGE: &str = "/a-page-nobody-sees";

/// Sessions one after another, in the namespace of the capture. The client writes its keys to `$1`; the server ends after
/// the last one.
const SESSIONS: &str = r#"
keys=$1
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null || exit 3
openssl s_server -accept 127.0.0.1:4433 -key key.pem -cert cert.pem -www -naccept $2 -quiet >/dev/null 2>&1 &
for session in $(seq $2); do
    tries=0
    until printf 'GET /a-page-nobody-sees HTTP/1.0\r\n\r\n' |
        openssl s_client -connect 127.0.0.1:4433 -keylogfile "$keys" -ign_eof >/dev/null 2>&1
    do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || exit 4
    done
done
wait
"#;

struct Sessions(Scene);

impl Sessions {
    fn new() -> Self {
        let scene = Scene::new();
        ip(&scene.right, "link set lo up");
        scene.write("sessions.sh", SESSIONS);
        Self(scene)
    }

    /// Captures `sessions`, whose keys go to `keys`.
    fn capture(&self, flags: &str, keys: &str, sessions: u32) -> Running {
        let line = format!(
            "capture -i lo --json {flags} tcp port 4433 -- sh sessions.sh {keys} {sessions}"
        );
        spawn(self.0.command(&line))
    }
}

/// The pages requested in TLS sessions, as far as tshark can decrypt them with the secrets in the file. It reads
/// the file once.
fn pages(file: &str) -> Vec<String> {
    // Its own key log must not help.
    let flags = "-n -o tls.keylog_file: -d tcp.port==4433,tls";
    let text = tool(
        "tshark",
        &format!("{flags} -r {file} -Y http.request -T fields -e http.request.uri"),
    );
    text.lines().map(str::to_owned).collect()
}

fn secrets(file: &str) -> usize {
    let is_secret = |line: &&crate::support::blocks::Line| line.what == "secrets";
    lines(file).iter().filter(is_secret).count()
}

#[test]
fn keys_that_are_logged_during_a_capture_decrypt_it() {
    let sessions = Sessions::new();
    let scene = &sessions.0;
    scene.write("keys.log", "# by this test\nneither key nor comment\n");
    let ended = sessions
        .capture("-w tls.pcapng --keylog keys.log", "keys.log", 3)
        .finish();
    ended.exit(0);
    let keys = fs::read_to_string(scene.file("keys.log")).expect("keys");
    let written = keys.lines().count() - 2;
    let summary = ended.events().pop().expect("a summary");
    assert_has(
        &summary,
        &json!({ "keylog": { "secrets": written, "ignored_lines": 1 } }),
    );
    assert!(written >= 12, "{keys}");
    assert_eq!(pages(&scene.file("tls.pcapng")), [PAGE; 3]);
}

/// More than is read at a time, in a file that is written once.
#[test]
fn all_keys_of_a_large_log_are_in_a_short_capture() {
    let sessions = Sessions::new();
    let scene = &sessions.0;
    let random = "0123456789abcdef".repeat(4);
    let secret = "fedcba9876543210".repeat(6);
    let line = format!("CLIENT_RANDOM {random} {secret}\n");
    // Comments alone fill the first reads.
    let log = "# comment\n".repeat(60_000) + &line.repeat(5_000);
    scene.write("keys.log", &log);
    let ended = sessions
        .capture("-w tls.pcapng --keylog keys.log", "own.log", 1)
        .finish();
    ended.exit(0);
    let summary = ended.events().pop().expect("a summary");
    assert_has(&summary, &json!({ "keylog": { "secrets": 5_000 } }));
    let file = fs::read(scene.file("tls.pcapng")).expect("a file");
    let line = line.as_bytes();
    let written = file.windows(line.len()).filter(|part| part == &line);
    assert_eq!(written.count(), 5_000);
}

#[test]
fn rotated_files_begin_with_all_keys_so_far() {
    let sessions = Sessions::new();
    let scene = &sessions.0;
    scene.write("keys.log", "");
    let ended = sessions
        .capture(
            "-w tls.pcapng --rotate-packets 25 --keylog keys.log",
            "keys.log",
            4,
        )
        .finish();
    ended.exit(0);
    let files: Vec<String> = scene
        .listed()
        .into_iter()
        .filter(|name| name.starts_with("tls_"))
        .collect();
    assert!(files.len() > 1, "{files:?}");
    let last = scene.file(files.last().expect("a file"));
    // The packets of the first session are in the first file.
    let keys = fs::read_to_string(scene.file("keys.log")).expect("keys");
    let first = keys
        .lines()
        .find(|line| !line.starts_with('#'))
        .expect("a key");
    let mut digits = String::new();
    for byte in first.bytes() {
        write!(digits, "{byte:02x}").expect("written");
    }
    let repeated = lines(&last)
        .into_iter()
        .find(|line| line.what == "secrets")
        .expect("secrets");
    assert!(repeated.text.contains(&digits), "{first} {repeated:?}");
}

#[test]
fn injected_keys_decrypt_a_capture() {
    let sessions = Sessions::new();
    let scene = &sessions.0;
    sessions
        .capture("-w tls.pcapng", "keys.log", 1)
        .finish()
        .exit(0);
    let (before, after) = (scene.file("tls.pcapng"), scene.file("keys.pcapng"));
    assert_eq!((pages(&before), secrets(&before)), (Vec::new(), 0));
    scene
        .run("read -q tls.pcapng -w keys.pcapng --inject-secrets keys.log")
        .exit(0);
    assert_eq!((pages(&after), secrets(&after)), (vec![PAGE.to_owned()], 1));
}

#[test]
fn key_logs_that_cannot_be_followed_are_refused() {
    let scene = Scene::new();
    let run = |line: &str| scene.run(line);
    assert_refused(
        run,
        &[
            (
                "capture -i lo -w a.pcapng --keylog none.log",
                1,
                "cannot follow the key log none.log: No such file or directory (os error 2) (create it first, as the user whose program writes to it)",
            ),
            (
                "capture -i lo -w a.pcapng --keylog /dev/null",
                1,
                "cannot follow the key log /dev/null: it is not a regular file",
            ),
            (
                "capture -i lo -w a.pcap --keylog keys.log",
                2,
                "--keylog needs a pcapng file: pcap cannot hold secrets",
            ),
        ],
    );
    assert!(scene.listed().is_empty());
}
