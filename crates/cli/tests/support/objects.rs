//! Object storage: moto, a server of Amazon S3.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use lab::{Host, wait};
use serde_json::Value;

use super::Scene;
use super::run::{Running, spawn};

/// Where the server listens, on the loopback of a host.
pub const PORT: u16 = 5000;

/// The bucket of the tests.
pub const BUCKET: &str = "logs";

/// The credentials of the tests.
pub const KEY_ID: &str = "AKIAIOSFODNN7EXAMPLE";
pub const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// Without it the server returns no objects. It does not check the signature.
const AUTHORIZATION: &str = "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261128/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A server with one bucket; ends when dropped.
pub struct Server<'h> {
    host: &'h Host,
    process: Child,
    log: PathBuf,
}

impl<'h> Server<'h> {
    /// Starts it at a host. Its log goes into `folder`.
    #[track_caller]
    pub fn start(host: &'h Host, folder: &Path) -> Self {
        Self::start_with(host, folder, "INF")
    }

    /// A server that knows no credentials: it takes one request without, which makes the bucket.
    #[track_caller]
    pub fn that_denies(host: &'h Host, folder: &Path) -> Self {
        Self::start_with(host, folder, "1")
    }

    #[track_caller]
    fn start_with(host: &'h Host, folder: &Path, unchecked_requests: &str) -> Self {
        let python = lab::tool::python();
        let moto = Path::new(python.get_program()).with_file_name("moto_server");
        let log = folder.join("moto.log");
        let mut command = host.command(moto.to_str().expect("a path"));
        let port = PORT.to_string();
        command
            .args(["-H", "127.0.0.1", "-p", &port])
            .env("INITIAL_NO_AUTH_ACTION_COUNT", unchecked_requests)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a file"));
        let server = Self {
            host,
            process: command.spawn().expect("moto starts"),
            log,
        };
        wait::until("the server listens", || server.connect().is_ok());
        let (status, answer) = server.ask("PUT", "");
        assert_eq!(status, 200, "{answer:?}");
        server
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        self.host.run(|| TcpStream::connect(to))
    }

    /// The status and the body of an answer.
    #[track_caller]
    fn ask(&self, method: &str, rest: &str) -> (u16, Vec<u8>) {
        let mut stream = self.connect().expect("a connection");
        write!(
            stream,
            "{method} /{BUCKET}{rest} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\n{AUTHORIZATION}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = answer.split_off(end.expect("an empty line") + 4);
        let head = String::from_utf8_lossy(&answer);
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body)
    }

    /// The keys of all objects.
    #[track_caller]
    pub fn keys(&self) -> Vec<String> {
        let (status, body) = self.ask("GET", "?list-type=2");
        let text = String::from_utf8(body).expect("text");
        assert_eq!(status, 200, "{text}");
        let keys = text.split("<Key>").skip(1);
        keys.map(|rest| rest.split("</Key>").next().expect("a key").to_owned())
            .collect()
    }

    /// An object, whose key needs no escapes.
    #[track_caller]
    pub fn get(&self, key: &str) -> Vec<u8> {
        let (status, body) = self.ask("GET", &format!("/{key}"));
        assert_eq!(status, 200, "{key}");
        body
    }

    /// How many requests had this text in their first line.
    pub fn requests(&self, text: &str) -> usize {
        let log = fs::read_to_string(&self.log).expect("the log");
        log.lines().filter(|line| line.contains(text)).count()
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes an authority and its certificate for `localhost`.
const CERTIFICATES: &str = "
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj '/CN=an authority' &&
openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost &&
echo subjectAltName=DNS:localhost >names &&
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem";

/// Passes TLS connections on to the port that it is called with, and prints its own.
const TERMINATOR: &str = "import asyncio, ssl, sys
async def copy(source, target):
    try:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    except OSError:
        pass
    target.close()
async def serve(source, target):
    back, forth = await asyncio.open_connection('127.0.0.1', int(sys.argv[1]))
    await asyncio.gather(copy(source, forth), copy(back, target))
async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain('server.pem', 'server.key')
    server = await asyncio.start_server(serve, '127.0.0.1', 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())";

/// HTTPS in front of the server at right, for `localhost`, with a certificate of an authority of its own.
pub struct Https {
    _running: Running,
    pub port: u16,
    /// The authority's certificate.
    pub authority: String,
}

impl Https {
    #[track_caller]
    pub fn start(scene: &Scene) -> Self {
        let folder = scene.folder.path();
        let mut make = lab::tool::command("bash");
        make.args(["-c", CERTIFICATES]).current_dir(folder);
        let made = make.output().expect("it runs");
        assert!(made.status.success(), "{made:?}");
        let python = lab::tool::python();
        let python = python.get_program().to_str().expect("a path");
        let mut command = scene.right.command(python);
        command.args(["-c", TERMINATOR, &PORT.to_string()]);
        command.current_dir(folder);
        let mut running = spawn(command);
        let port = running.line().parse().expect("a port");
        Self {
            _running: running,
            port,
            authority: scene.file("ca.pem"),
        }
    }
}

/// The rows of a query over `s3://`, by DuckDB at the host of the server.
#[track_caller]
pub fn duckdb(host: &Host, query: &str) -> Vec<Vec<Value>> {
    let script = "import duckdb, fsspec, json, sys
duckdb.register_filesystem(fsspec.filesystem('s3', endpoint_url=sys.argv[1]))
print(json.dumps(duckdb.sql(sys.argv[2]).fetchall(), default=str))";
    let python = lab::tool::python();
    let mut command = host.command(python.get_program().to_str().expect("a path"));
    credentials(&mut command);
    let endpoint = format!("http://127.0.0.1:{PORT}");
    let output = command.args(["-c", script, &endpoint, query]).output();
    let output = output.expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}: {errors}");
    serde_json::from_slice(&output.stdout).expect("rows")
}

fn credentials(command: &mut Command) {
    command
        .env("AWS_ACCESS_KEY_ID", KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", "us-east-1");
}

/// `tapline LINE` at the right host of a scene, with the server there and a spool in the folder.
pub fn command(scene: &Scene, line: &str) -> Command {
    command_to(scene, PORT, line)
}

/// The same with a server at another port.
pub fn command_to(scene: &Scene, port: u16, line: &str) -> Command {
    let mut command = scene.command(&format!("{line} --spool {}", scene.file("spool")));
    use_server(&mut command, &format!("127.0.0.1:{port}"));
    command
}

/// Leads uploads to this server, by default at the port of the tests.
pub fn use_server(command: &mut Command, at: &str) {
    credentials(command);
    let port = if at.contains(':') {
        String::new()
    } else {
        format!(":{PORT}")
    };
    command
        .env("AWS_ENDPOINT_URL", format!("http://{at}{port}"))
        .env("AWS_ALLOW_HTTP", "true");
}

pub fn start(scene: &Scene, line: &str) -> Running {
    spawn(command(scene, line))
}

/// The files in the spool, by key; hidden ones only if `hidden`.
pub fn spooled(scene: &Scene, hidden: bool) -> Vec<String> {
    spooled_in(&PathBuf::from(scene.file("spool/s3")).join(BUCKET), hidden)
}

/// The same of another bucket's directory.
pub fn spooled_in(root: &Path, hidden: bool) -> Vec<String> {
    let mut keys = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // An uploaded file's folder may go meanwhile.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with('.') == hidden && name != ".lock" {
                let key = path.strip_prefix(root).expect("below the root");
                keys.push(key.to_str().expect("text").to_owned());
            }
        }
    }
    keys.sort();
    keys
}

/// Passes requests on to the server at a host, but refuses those whose line has `denied`, as a bucket without permissions for a
/// part of its keys. Returns the port.
#[track_caller]
pub fn denying_port(host: &Host, denied: &'static str) -> u16 {
    passing_port(host, move |line| {
        if line.contains(denied) {
            Answer::Denied
        } else {
            Answer::Passed
        }
    })
}

/// As [`denying_port`], with permissions to write all keys, and to list only those that begin with `prefix`.
#[track_caller]
pub fn listing_port(host: &Host, prefix: &str) -> u16 {
    let allowed = format!("&prefix={prefix}&");
    passing_port(host, move |line| {
        let line = line.replace("%2f", "/");
        if line.contains("list-type=2") && !line.contains(&allowed) {
            Answer::Denied
        } else {
            Answer::Passed
        }
    })
}

/// Passes requests on to the server at a host. The answer to the first one whose line has `lost` does not come back, and when it
/// is made again, the upload is unknown, as at S3. Returns the port.
#[track_caller]
pub fn losing_port(host: &Host, lost: &'static str) -> u16 {
    let mut first: Option<String> = None;
    passing_port(host, move |line| match &first {
        Some(first) if first == line => Answer::Unknown,
        None if line.contains(lost) => {
            first = Some(line.to_owned());
            Answer::Lost
        }
        _ => Answer::Passed,
    })
}

/// What a client gets.
enum Answer {
    Passed,
    Denied,
    Unknown,
    /// The connection is closed.
    Lost,
}

/// `answer` chooses by the line of each request, in lower case.
#[track_caller]
fn passing_port(host: &Host, mut answer: impl FnMut(&str) -> Answer + Send + 'static) -> u16 {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let (listener, mut servers) = host.run(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        // The thread of the test is outside of the host.
        let servers: Vec<_> = (0..64).map(|_| TcpStream::connect(to)).collect();
        (listener, servers)
    });
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Some(Ok(server)) = servers.pop() else {
                return;
            };
            // Who has an answer goes away.
            let _ = pass_one(client, server, &mut answer);
        }
    });
    port
}

/// Answers one request, which has a body.
fn pass_one(
    mut client: TcpStream,
    mut server: TcpStream,
    answer: &mut dyn FnMut(&str) -> Answer,
) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4 << 10];
    let end = loop {
        let read = client.read(&mut buffer)?;
        request.extend(&buffer[..read]);
        if let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if read == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
    let whole = end + 4 + length.unwrap_or(0);
    while request.len() < whole {
        let read = client.read(&mut buffer)?;
        request.extend(&buffer[..read]);
    }
    let answer = answer(head.lines().next().unwrap_or_default());
    let refusal = match answer {
        Answer::Denied => Some(("403 Forbidden", "AccessDenied")),
        Answer::Unknown => Some(("404 Not Found", "NoSuchUpload")),
        Answer::Passed | Answer::Lost => None,
    };
    if let Some((status, code)) = refusal {
        let body = format!("<Error><Code>{code}</Code></Error>");
        return write!(
            client,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    // The next request comes over another connection.
    server.write_all(&request[..end])?;
    server.write_all(b"\r\nConnection: close")?;
    server.write_all(&request[end..])?;
    if matches!(answer, Answer::Lost) {
        return io::copy(&mut server, &mut io::sink()).map(drop);
    }
    io::copy(&mut server, &mut client).map(drop)
}

/// Passes connections on to the server at a host until `bytes` have gone there, and then nothing more. Returns the port.
#[track_caller]
pub fn stalling_port(host: &Host, bytes: u64) -> u16 {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let (listener, servers) = host.run(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        // The threads of the test are outside of the host. The program uses few connections.
        let servers: Vec<_> = (0..8).map(|_| TcpStream::connect(to)).collect();
        (listener, servers)
    });
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut left = bytes;
        for server in servers {
            let mut server = server.expect("a connection");
            let Ok((mut client, _)) = listener.accept() else {
                return;
            };
            let (mut from, mut back) = (
                server.try_clone().expect("a socket"),
                client.try_clone().expect("a socket"),
            );
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut back);
                let _ = back.shutdown(Shutdown::Both);
            });
            let mut limited = Read::by_ref(&mut client).take(left);
            let passed = io::copy(&mut limited, &mut server).unwrap_or(0);
            left -= passed;
            if left == 0 {
                // The request never ends, until its client does.
                let _ = io::copy(&mut client, &mut io::sink());
                return;
            }
        }
    });
    port
}
