//! Targets by their names, of a resolver that the test is.

use std::collections::HashSet;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::support::Scene;
use crate::support::ping::with_files;
use crate::support::run::Ended;
use lab::Host;

/// Names asked for at a time.
const AT_A_TIME: usize = 32;
/// Names of the list, beside one that nobody has.
const NAMES: usize = 40;
/// For its addresses of IPv4 and of IPv6.
const QUESTIONS_OF_EACH: usize = 2;
const DNS_HEADER_BYTES: usize = 12;
/// Type and class behind the name of a question.
const QUESTION_END_BYTES: usize = 4;
/// Longer than any resolver waits before it asks again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `tapline ping` with a resolver at 127.0.0.1.
fn ping(scene: &Scene, line: &str) -> Ended {
    let settings = scene.write("resolv.conf", "nameserver 127.0.0.1\n");
    let hosts = scene.write("hosts", "127.0.0.1 localhost\n");
    let files = [[&*settings, "/etc/resolv.conf"], [&hosts, "/etc/hosts"]];
    with_files(scene, &files, line)
}

fn socket(host: &Host) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind("127.0.0.1:53"));
    let socket = socket.expect("nobody else has it");
    socket.set_read_timeout(Some(PATIENCE)).expect("it is set");
    socket
}

/// Bytes of the name that `question` asks for.
fn name_bytes(question: &[u8]) -> usize {
    let name = &question[DNS_HEADER_BYTES..];
    name.iter().position(|byte| *byte == 0).expect("its end") + 1
}

/// The first label of that name, e.g. `h7`.
fn label(question: &[u8]) -> String {
    let [length, name @ ..] = &question[DNS_HEADER_BYTES..] else {
        panic!("no question: {question:?}");
    };
    String::from_utf8_lossy(&name[..usize::from(*length)]).into_owned()
}

/// Whether `question` is for addresses of IPv4.
fn is_of_ipv4(question: &[u8]) -> bool {
    question[DNS_HEADER_BYTES + name_bytes(question)..].starts_with(&[0, 1])
}

/// The answer to `question`: 127.0.1.7 is the address of `h7`, and other names are nobody's.
///
/// # Source
/// RFC 1035, 4.1.
fn answer(question: &[u8]) -> Vec<u8> {
    let end = DNS_HEADER_BYTES + name_bytes(question) + QUESTION_END_BYTES;
    let mut answer = question[..end].to_vec();
    let label = label(question);
    let number = label
        .strip_prefix('h')
        .map(|number| number.parse().expect("a number"));
    let address = number.filter(|_| is_of_ipv4(question));
    let code = if number.is_some() { 0 } else { 3 };
    // An answer, recursion available; one question, its answers, and nothing else.
    let counts = [0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0];
    answer[2..DNS_HEADER_BYTES].copy_from_slice(&[&[0x81, 0x80 | code], &counts[..]].concat());
    if let Some(number) = address {
        // The question's name, an address, of the Internet, for a minute, four bytes.
        answer.extend_from_slice(&[0xc0, DNS_HEADER_BYTES as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend_from_slice(&[127, 0, 1, number]);
    }
    answer
}

#[test]
fn names_are_looked_up_side_by_side_and_asked_in_their_order() {
    let scene = Scene::new();
    let names: Vec<_> = (1..=NAMES)
        .map(|number| format!("h{number}.test."))
        .collect();
    let names = names.join("\n");
    // Some editors begin a file with a mark of its byte order.
    let list = scene.write("list", format!("\u{feff}{names}\nh1.test.\nnobody.test.\n"));
    let resolver = socket(&scene.left);
    let asked = thread::scope(|scope| {
        let resolver = scope.spawn(|| {
            let (mut asked, mut waiting) = (Vec::new(), Vec::new());
            let mut question = [0; 512];
            while asked.len() < QUESTIONS_OF_EACH * (NAMES + 1) {
                let (bytes, from) = resolver.recv_from(&mut question).expect("a question");
                let question = &question[..bytes];
                asked.push((label(question), is_of_ipv4(question)));
                waiting.push((question.to_vec(), from));
                // Nobody has an answer before as many are asked for as are at a time.
                if asked.len() >= QUESTIONS_OF_EACH * AT_A_TIME {
                    for (question, from) in waiting.drain(..) {
                        resolver
                            .send_to(&answer(&question), from)
                            .expect("it is sent");
                    }
                }
            }
            asked
        });
        let ended = ping(&scene, &format!("--json -4 -c 1 -i 0 -f {list}"));
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        let said = "line 42: cannot resolve nobody.test.: Name or service not known";
        assert_eq!(ended.stderr[0], format!("tapline: {list}: {said}"));
        let told: Vec<_> = (ended.events_of("target").iter())
            .map(|target| ["target", "address", "received"].map(|key| target[key].to_string()))
            .map(|words| words.join(" ").replace('"', ""))
            .collect();
        let expected = (1..=NAMES).map(|number| format!("h{number}.test. 127.0.1.{number} 1"));
        assert_eq!(told, expected.collect::<Vec<_>>());
        assert_eq!(ended.events()[0]["repeated"], 1);
        resolver.join().expect("it answers")
    });
    let once: HashSet<_> = asked.iter().collect();
    assert_eq!(once.len(), asked.len(), "asked twice: {asked:?}");
}
