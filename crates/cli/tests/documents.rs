//! Executes the commands of the README and the guide, on a host with the interface that they name.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::{fs, iter, thread};

use lab::generator::send_frames;
use lab::systemd::Systemd;
use lab::{Host, wait};
use netlink::{IfIndex, Link, Veth};
use serde_json::json;
use tempfile::TempDir;
use wire::build::Frame;
use wire::{MacAddress, TcpFields};

use super::UML;
use super::support::PROGRAM;

/// The words after `sh` of blocks that need bridges with VLANs, which the running kernel may lack.
const VLAN_FILTERING: &str = "vlan-filtering";

/// The word after `sh` of blocks that need an installed library: a test of the library for C runs them.
const BUILD: &str = "build";

/// How long a line that waits for Ctrl-C runs, in seconds.
const BEFORE_INTERRUPT: &str = "timeout --foreground --preserve-status --signal INT 2";

/// A fenced block of commands.
struct Block {
    document: String,
    line: usize,
    /// The words after `sh`.
    info: String,
    text: String,
}

impl Block {
    fn status(&self) -> i32 {
        match self.info.strip_prefix("status=") {
            Some(number) => number.parse().expect("an exit status"),
            None => 0,
        }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.document, self.line)
    }

    /// How the result differs from what the document says.
    fn difference(&self, output: &Output) -> Option<String> {
        let (place, expected, status) = (self.place(), self.status(), output.status);
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (shown(&output.stdout), shown(&output.stderr));
        let line = || format!("{place}: {expected} expected, {status}\n{stdout}{stderr}");
        (status.code() != Some(expected)).then(line)
    }

    /// The text as a script. A line that would run until Ctrl-C is interrupted.
    fn script(&self) -> String {
        // The commands run as root, on a machine without a display.
        let mut script = String::from("sudo() { \"$@\"; }\nwireshark() { cat > /dev/null; }\n");
        for line in self.text.lines() {
            // A live screen needs a terminal. Signals are for the program in it: `script` kills
            // its shell at the first one, and does not always live to tell the status.
            let line = if line.contains(" --live") {
                let live = format!("{BEFORE_INTERRUPT} {line}");
                format!("script --quiet --return --command '{live}' /dev/null")
            } else if line.contains("# until Ctrl-C") {
                format!("{BEFORE_INTERRUPT} {line}")
            } else {
                line.to_owned()
            };
            script.push_str(&line);
            script.push('\n');
        }
        script
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and the pages of the guide.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/guide")).expect("the guide");
    let mut pages: Vec<_> = entries.map(|entry| entry.expect("a page").path()).collect();
    pages.sort();
    pages.insert(0, root().join("README.md"));
    pages
}

fn blocks(document: &Path) -> Vec<Block> {
    let text = fs::read_to_string(document).expect("a document");
    let name = document.file_name().expect("a name").to_string_lossy();
    let (mut found, mut lines) = (Vec::new(), text.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```sh") else {
            continue;
        };
        let body = lines.by_ref().map(|(_, line)| line);
        let body: Vec<_> = body.take_while(|line| *line != "```").collect();
        found.push(Block {
            document: name.clone().into_owned(),
            line: number + 1,
            info: info.trim().to_owned(),
            text: body.join("\n"),
        });
    }
    found
}

/// The commands of tapline in the second column of the tables of whole commands.
fn commands_of_tables(document: &Path) -> Vec<Block> {
    let text = fs::read_to_string(document).expect("a document");
    let name = document.file_name().expect("a name").to_string_lossy();
    let rows = text.lines().enumerate().filter_map(|(number, line)| {
        let (_, right) = line.split_once("` | `tapline ")?;
        let command = right.strip_suffix("` |")?.replace("\\|", "|");
        // Other tables have words in their columns.
        let is_whole = !command.contains('`');
        is_whole.then(|| (number, format!("tapline {command}")))
    });
    let block = |(number, command): (usize, String)| Block {
        document: name.clone().into_owned(),
        line: number + 1,
        info: String::new(),
        // A capture would run until Ctrl-C.
        text: match command.strip_prefix("tapline capture") {
            Some(_) => format!("{command} # until Ctrl-C"),
            None => command,
        },
    };
    rows.map(block).collect()
}

/// A host with `eth0`, 10.0.0.1, and another at its end that answers for all addresses of 10.0.0.0/24.
struct Site<'a> {
    here: Host,
    peer: Host,
    peer_link: IfIndex,
    frames: Vec<Vec<u8>>,
    folder: TempDir,
    /// The folder that is /usr/local/lib.
    libraries: &'a Path,
}

/// Installs libtapline_pcap of this build.
fn install_library() -> TempDir {
    let folder = Path::new(PROGRAM).with_file_name("deps");
    let entries = fs::read_dir(folder).expect("the folder of dependencies");
    let libraries = entries.map(|entry| entry.expect("an entry").path());
    let libraries = libraries.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libtapline_pcap") && name.ends_with(".so")
    });
    let time = |path: &PathBuf| {
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    let library = libraries.max_by_key(time);
    let prefix = tempfile::tempdir().expect("a folder");
    let mut script = std::process::Command::new(root().join("packaging/pcap-library.sh"));
    script.arg(library.expect("cargo build -p tapline-pcap comes first: make test does that"));
    let status = script.arg(prefix.path()).status();
    assert!(status.expect("a shell").success());
    prefix
}

impl<'a> Site<'a> {
    fn new(libraries: &'a Path) -> Self {
        let (here, peer) = (Host::new("here"), Host::new("peer"));
        let far = Link::named("eth0".parse().expect("a name"))
            .in_namespace(peer.namespace().try_clone().expect("a descriptor"));
        let near = Link::named("eth0".parse().expect("a name")).kind(Veth::to(far));
        here.netlink().create(&near).expect("a veth pair");
        for (host, address) in [(&here, "10.0.0.1/24"), (&peer, "10.0.0.2/24")] {
            host.ip(&format!("address add {address} dev eth0"));
            host.ip("link set eth0 up");
        }
        here.ip("route add default via 10.0.0.2");
        // An interface that receives XDP frames, for `ping --backend xdp`.
        peer.output_of("ethtool --features eth0 gro on");
        peer.ip("route add local 10.0.0.0/24 dev lo");
        peer.ip("route add unicast 10.0.0.1 dev eth0 table local");
        let mac = |host: &Host| {
            let link = host.netlink().link_named("eth0").expect("eth0");
            (link.ifindex(), link.mac().expect("an Ethernet link"))
        };
        let ((_, here_mac), (peer_link, peer_mac)) = (mac(&here), mac(&peer));
        Self {
            here,
            peer,
            peer_link,
            frames: frames(MacAddress(here_mac.0), MacAddress(peer_mac.0)),
            folder: tempfile::tempdir().expect("a folder"),
            libraries,
        }
    }

    /// Executes a script in the folder, while packets arrive at eth0.
    fn execute(&self, script: &str) -> Output {
        let program = Path::new(PROGRAM).parent().expect("a folder");
        // The Python that has engines of tables.
        let python = lab::tool::python();
        let python = Path::new(python.get_program()).with_file_name("");
        let (program, python) = (program.display(), python.display());
        let path = format!("{program}:{python}:/usr/sbin:/usr/bin:/sbin:/bin");
        let file = |name: &str| fs::File::create(self.folder.path().join(name)).expect("a file");
        // Names of namespaces and the record of `doctor --fix` are in /run: it is one of its own.
        // Installed libraries are, too.
        let own_run = "mount -t tmpfs tmpfs /run && mount --bind \"$1\" /usr/local/lib \
                       && exec /bin/sh -e -c \"$0\"";
        let mut command = self.here.command("unshare");
        command.args(["--mount", "/bin/sh", "-c", own_run, script]);
        command.arg(self.libraries);
        command.env("PATH", path);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(file(".stdout")).stderr(file(".stderr"));
        let mut child = command.spawn().expect("a shell");
        wait::until(&format!("this ends: {script}"), || {
            self.peer
                .run(|| send_frames(self.peer_link, &self.frames))
                .expect("packets are sent");
            child.try_wait().expect("its status").is_some()
        });
        let read = |name: &str| fs::read(self.folder.path().join(name)).expect("its output");
        Output {
            status: child.wait().expect("its status"),
            stdout: read(".stdout"),
            stderr: read(".stderr"),
        }
    }

    /// Executes a script in the repository, on the host with a systemd of its own.
    fn execute_beside_systemd(&self, script: &str) -> Output {
        Systemd::start(&self.here, &root(), Path::new(PROGRAM)).run(script)
    }
}

/// DNS queries, TCP packets and others, to the host.
fn frames(here: MacAddress, peer: MacAddress) -> Vec<Vec<u8>> {
    let ip =
        |last: u8| Frame::ethernet(peer, here).ipv4([10, 0, 0, last].into(), [10, 0, 0, 1].into());
    // A query for the address of example.org.
    let query =
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03org\x00\x00\x01\x00\x01";
    let web = TcpFields {
        source_port: 40000,
        destination_port: 443,
        ..TcpFields::default()
    };
    vec![
        ip(9).udp(5353, 53).payload(query),
        ip(7).tcp(web).payload(b"hello"),
        ip(8).udp(4000, 9).payload(&[0; 100]),
    ]
}

#[test]
fn the_commands_of_the_documents_do_what_they_say() {
    let installed = install_library();
    let libraries = installed.path().join("lib");
    let (mut executed, mut wrong) = (0, Vec::new());
    let pages = Mutex::new(documents().into_iter());
    let next = || pages.lock().expect("no thread panicked").next();
    let run_pages = || -> Vec<_> {
        iter::from_fn(next)
            .map(|page| run(&page, &libraries))
            .collect()
    };
    // Most commands wait for packets or for Ctrl-C: pages side by side end sooner.
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run_pages)).collect();
        for thread in threads {
            for (blocks, differences) in thread.join().expect("the test's own checks hold") {
                executed += blocks;
                wrong.extend(differences);
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(executed > 70, "{executed}");
}

/// Executes the commands of a page, on a host of its own. Returns how many blocks there were, and what differed.
fn run(page: &Path, libraries: &Path) -> (usize, Vec<String>) {
    let site = Site::new(libraries);
    let (mut executed, mut wrong) = (0, Vec::new());
    for block in blocks(page).iter().chain(&commands_of_tables(page)) {
        let output = match block.info.as_str() {
            VLAN_FILTERING | BUILD => continue,
            "systemd" => site.execute_beside_systemd(&block.text),
            "make" => dry_run(&block.text),
            info => {
                let is_known = info.is_empty() || info.starts_with("status=");
                assert!(is_known, "{}: {info}", block.place());
                site.execute(&block.script())
            }
        };
        wrong.extend(block.difference(&output));
        executed += 1;
    }
    (executed, wrong)
}

/// Has make(1) print what it would do: the tests themselves are one of its targets.
fn dry_run(script: &str) -> Output {
    let script = format!("make() {{ command make --dry-run \"$@\"; }}\n{script}");
    let mut command = std::process::Command::new("sh");
    let command = command.args(["-e", "-c", &script]).current_dir(root());
    command.output().expect("a shell")
}

#[test]
fn commands_for_bridges_with_vlans_do_what_they_say() {
    let all: Vec<_> = documents().iter().flat_map(|page| blocks(page)).collect();
    let all = all.iter().filter(|block| block.info == VLAN_FILTERING);
    let all: Vec<_> = all.collect();
    assert_eq!(all.len(), 1);
    if UML.has_run() {
        return;
    }
    // These commands need no library.
    let libraries = tempfile::tempdir().expect("a folder");
    let site = Site::new(libraries.path());
    for name in ["eth1", "eth2"] {
        site.here
            .ip(&format!("link add {name} type veth peer name {name}-peer"));
    }
    for block in all {
        assert_eq!(block.difference(&site.execute(&block.script())), None);
    }
    let vlans = site.here.output_of("bridge -json vlan show");
    let ports: serde_json::Value = serde_json::from_str(&vlans).expect("JSON");
    let of_port = |name: &str| {
        let mut ports = ports.as_array().expect("ports").iter();
        let port = ports.find(|port| port["ifname"] == name);
        port.expect("a port")["vlans"].clone()
    };
    let access = json!([{"vlan": 10, "flags": ["PVID", "Egress Untagged"]}]);
    assert_eq!(of_port("eth1"), access);
    let trunk: Vec<_> = (10..=20).map(|vlan| json!({"vlan": vlan})).collect();
    assert_eq!(of_port("eth2"), json!(trunk));
}

/// The short help of a program, which both standard streams may carry.
fn help_of(program: &str, flag: &str) -> String {
    let mut command = std::process::Command::new(program);
    let output = command.arg(flag).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let bytes = [output.stdout, output.stderr].concat();
    String::from_utf8(bytes).expect("text")
}

/// The first flag of each line that describes one.
fn listed_flags(help: &str) -> Vec<String> {
    let described = help.lines().filter(|line| line.starts_with("  "));
    let words = described.filter_map(|line| line.split_whitespace().next());
    let flags = words.filter(|word| word.starts_with('-'));
    let name = |word: &str| word.trim_end_matches(',').to_owned();
    flags.map(name).collect()
}

/// The flags of the usage of tcpdump: `[-AbdD#]`, `[ -B size ]`, `[--count]`.
fn usage_flags(help: &str) -> Vec<String> {
    let mut flags = Vec::new();
    for (index, part) in help.split('[').skip(1).enumerate() {
        let word = part.trim().split([' ', ']']).next().unwrap_or_default();
        match word.strip_prefix('-') {
            Some(letters) if index == 0 => flags.extend(letters.chars().map(|c| format!("-{c}"))),
            Some(_) => flags.push(word.to_owned()),
            None => {}
        }
    }
    flags
}

#[test]
fn the_pages_for_users_of_other_programs_have_all_their_flags() {
    let mut missing = Vec::new();
    for (program, flags, least) in [
        ("tcpdump", usage_flags(&help_of("tcpdump", "--help")), 50),
        ("dumpcap", listed_flags(&help_of("dumpcap", "-h")), 35),
        ("fping", listed_flags(&help_of("fping", "-h")), 30),
        ("editcap", listed_flags(&help_of("editcap", "-h")), 25),
    ] {
        assert!(flags.len() >= least, "{program}: {flags:?}");
        let page = root().join(format!("docs/guide/coming-from-{program}.md"));
        let page = fs::read_to_string(page).expect("a page");
        let code = page.split('`').skip(1).step_by(2);
        let words: Vec<_> = code.flat_map(|code| code.split([' ', '|'])).collect();
        let is_missing = |flag: &&String| !words.contains(&flag.as_str());
        missing.extend(
            flags
                .iter()
                .filter(is_missing)
                .map(|flag| format!("{program} {flag}")),
        );
    }
    assert!(missing.is_empty(), "{missing:?}");
}
