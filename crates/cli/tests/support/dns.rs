//! A DNS resolver in the test.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::Host;

use super::Scene;

const DNS_HEADER_BYTES: usize = 12;
/// Type and class behind the name of a question.
const QUESTION_END_BYTES: usize = 4;
/// Longer than any resolver waits before it asks again.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the resolver says about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Address(Ipv4Addr),
    /// NXDOMAIN.
    NoSuchName,
    /// SERVFAIL.
    Failure,
}

/// The address of the resolver, which is also that of a C library without settings.
const USUAL: &str = "127.0.0.1";

/// The files that make a program use the resolver at 127.0.0.1, and where they belong.
pub fn files(scene: &Scene) -> [[String; 2]; 2] {
    let settings = scene.write("resolv.conf", format!("nameserver {USUAL}\n"));
    let hosts = scene.write("hosts", "127.0.0.1 localhost\n");
    [
        [settings, "/etc/resolv.conf".to_owned()],
        [hosts, "/etc/hosts".to_owned()],
    ]
}

/// The socket of the resolver at `host`.
pub fn socket(host: &Host) -> UdpSocket {
    socket_at(host, USUAL)
}

fn socket_at(host: &Host, address: &str) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind((address, 53)));
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
pub fn label(question: &[u8]) -> String {
    let [length, name @ ..] = &question[DNS_HEADER_BYTES..] else {
        panic!("no question: {question:?}");
    };
    String::from_utf8_lossy(&name[..usize::from(*length)]).into_owned()
}

/// Whether `question` is for addresses of IPv4.
pub fn is_of_ipv4(question: &[u8]) -> bool {
    question[DNS_HEADER_BYTES + name_bytes(question)..].starts_with(&[0, 1])
}

/// The answer to `question`.
///
/// # Source
/// RFC 1035, 4.1.
pub fn answer(question: &[u8], record: Record) -> Vec<u8> {
    let end = DNS_HEADER_BYTES + name_bytes(question) + QUESTION_END_BYTES;
    let mut answer = question[..end].to_vec();
    let (code, address) = match record {
        Record::Address(address) => (0, Some(address).filter(|_| is_of_ipv4(question))),
        Record::NoSuchName => (3, None),
        Record::Failure => (2, None),
    };
    // An answer, recursion available; one question, its answers, and nothing else.
    let counts = [0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0];
    answer[2..DNS_HEADER_BYTES].copy_from_slice(&[&[0x81, 0x80 | code], &counts[..]].concat());
    if let Some(address) = address {
        // The question's name, an address, of the Internet, for a minute, four bytes.
        answer.extend_from_slice(&[0xc0, DNS_HEADER_BYTES as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend_from_slice(&address.octets());
    }
    answer
}

/// Answers questions at an address of a host until it is dropped.
pub struct NameServer {
    records: Arc<Mutex<HashMap<String, Record>>>,
    /// A question from here, to the resolver, ends it.
    end: (UdpSocket, SocketAddr),
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// At 127.0.0.1.
    pub fn new(host: &Host) -> Self {
        Self::at(host, USUAL)
    }

    pub fn at(host: &Host, address: &str) -> Self {
        let server = socket_at(host, address);
        let client = host.run(|| UdpSocket::bind("127.0.0.1:0")).expect("a port");
        let to = server.local_addr().expect("an address");
        let records: Arc<Mutex<HashMap<String, Record>>> = Arc::default();
        let known = Arc::clone(&records);
        let from_client = client.local_addr().expect("an address");
        let thread = thread::spawn(move || {
            let mut question = [0; 512];
            loop {
                let Ok((bytes, from)) = server.recv_from(&mut question) else {
                    // Nobody asks at the moment.
                    continue;
                };
                if from == from_client {
                    return;
                }
                let question = &question[..bytes];
                let record = known
                    .lock()
                    .expect("a record")
                    .get(&label(question))
                    .copied();
                let answer = answer(question, record.unwrap_or(Record::NoSuchName));
                server.send_to(&answer, from).expect("it is sent");
            }
        });
        Self {
            records,
            end: (client, to),
            thread: Some(thread),
        }
    }

    /// What it says about the name `NAME.test.` from now on.
    pub fn set(&self, name: &str, record: Record) {
        let mut records = self.records.lock().expect("a record");
        records.insert(name.to_owned(), record);
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        let (client, to) = &self.end;
        if client.send_to(&[], to).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}
