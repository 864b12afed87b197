//! Host names, answered by a resolver in the test.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::thread;

use crate::support::Scene;
use crate::support::dns::{self, Record, is_of_ipv4, label};
use crate::support::ping::with_files;
use crate::support::run::Ended;

/// Names asked for at a time.
const AT_A_TIME: usize = 32;
/// Names of the list, beside one that nobody has.
const NAMES: usize = 40;
/// For its addresses of IPv4 and of IPv6.
const QUESTIONS_OF_EACH: usize = 2;

/// Runs `tapline ping` with a resolver at 127.0.0.1.
fn ping(scene: &Scene, line: &str) -> Ended {
    with_files(scene, &dns::files(scene), line)
}

/// The answer to `question`: 127.0.1.7 is the address of `h7`, and other names are nobody's.
fn answer(question: &[u8]) -> Vec<u8> {
    let label = label(question);
    let number = label.strip_prefix('h').map(str::parse);
    let record = number.map_or(Record::NoSuchName, |number| {
        Record::Address(Ipv4Addr::new(127, 0, 1, number.expect("a number")))
    });
    dns::answer(question, record)
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
    let resolver = dns::socket(&scene.left);
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
