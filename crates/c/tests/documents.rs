//! Builds each block of the guide in C, C++ and CMake with an installed library, and runs the programs on a host with the
//! interface that they name.
//!
//! Blocks without `main` are parts of one program per page: what they include and use is at its beginning, and each part
//! sees the names of those before it. A block that is not run says why: `not-run (REASON)` after its language.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use lab::generator::{send_frames, udp_frame};
use lab::{Host, once, wait};

use crate::UML;
use crate::support::{built, files, install, is_inside_uml, pkg_config, repository, room, succeed};

/// Blocks that are not run.
const NOT_RUN: usize = 1;

const LANGUAGES: [&str; 3] = ["c", "cpp", "cmake"];

/// A fenced block.
#[derive(Debug)]
struct Block {
    /// Its page and line.
    place: String,
    language: &'static str,
    is_run: bool,
    text: String,
}

/// The blocks of a page in these languages.
fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("a page");
    let name = page.file_name().expect("a name").to_string_lossy();
    let (mut found, mut lines) = (Vec::new(), text.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let body: Vec<_> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .collect();
        let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
        let Some(language) = LANGUAGES.into_iter().find(|known| *known == language) else {
            continue;
        };
        let place = format!("{name}:{}", number + 1);
        let reason = rest.strip_prefix("not-run (");
        let is_run = reason.is_none();
        assert!(
            rest.is_empty() || reason.is_some_and(|reason| reason.len() > 5),
            "{place}: {rest:?} is no reason"
        );
        found.push(Block {
            place,
            language,
            is_run,
            text: body.join("\n"),
        });
    }
    found
}

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join("docs/guide")).expect("the guide");
    let mut pages: Vec<_> = entries.map(|entry| entry.expect("a page").path()).collect();
    pages.sort();
    pages
}

/// Where programs are built, with the library installed below `usr`.
fn workshop() -> &'static Path {
    static WORKSHOP: OnceLock<PathBuf> = OnceLock::new();
    WORKSHOP.get_or_init(|| {
        let folder = built().join("documents");
        if !is_inside_uml() {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("a folder");
            install(&folder.join("usr"));
        }
        folder
    })
}

/// A program of a page.
struct Program {
    place: String,
    is_cpp: bool,
    text: String,
}

impl Program {
    fn of(block: &Block) -> Self {
        Self {
            place: block.place.clone(),
            is_cpp: block.language == "cpp",
            text: block.text.clone(),
        }
    }

    /// The program of which `parts` are the parts.
    fn joined(parts: &[&Block]) -> Self {
        let is_outside = |line: &&str| line.starts_with('#') || line.starts_with("using ");
        let lines = || parts.iter().flat_map(|part| part.text.lines());
        let mut text = String::new();
        for line in lines().filter(is_outside) {
            writeln!(text, "{line}").expect("text");
        }
        text.push_str("int main() {\n");
        for part in parts {
            let inside: Vec<_> = part.text.lines().filter(|line| !is_outside(line)).collect();
            writeln!(text, "{{\n{}", inside.join("\n")).expect("text");
        }
        text.push_str(&"}".repeat(parts.len() + 1));
        Self {
            text,
            ..Self::of(parts[0])
        }
    }

    /// Whether it changes the network.
    fn configures(&self) -> bool {
        self.text.contains("tapline/netlink/") || self.text.contains("tapline_netlink_open")
    }

    /// The path of the built program.
    fn path(&self) -> PathBuf {
        workshop().join(self.place.replace(['.', ':'], "_"))
    }

    fn build(&self) {
        let (compiler, standard, end) = if self.is_cpp {
            ("c++", "-std=c++20", "cpp")
        } else {
            ("cc", "-std=c11", "c")
        };
        let program = self.path();
        let source = program.with_extension(end);
        fs::write(&source, &self.text).expect("a file");
        let prefix = workshop().join("usr");
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-o"]);
        command.arg(&program).arg(&source);
        command.args(pkg_config(&prefix, &["--cflags", "--libs"]).split_whitespace());
        command.arg(format!("-Wl,-rpath,{}/lib", prefix.display()));
        if self.text.contains("<pcap/pcap.h>") {
            command.args(["-D_DEFAULT_SOURCE", "-lpcap"]);
        }
        succeed(&mut command);
    }
}

/// The programs of a page.
fn programs(blocks: &[Block]) -> Vec<Program> {
    let mut programs = Vec::new();
    for language in ["c", "cpp"] {
        let blocks = blocks
            .iter()
            .filter(|block| block.is_run && block.language == language);
        let (whole, parts): (Vec<_>, Vec<_>) =
            blocks.partition(|block| block.text.contains("int main("));
        programs.extend(whole.into_iter().map(Program::of));
        if !parts.is_empty() {
            programs.push(Program::joined(&parts));
        }
    }
    programs
}

/// Packets to port 53 of UDP and to port 443 of TCP.
fn frames() -> Vec<Vec<u8>> {
    let mut dns = udp_frame(80);
    dns[36..38].copy_from_slice(&53_u16.to_be_bytes());
    let mut https = udp_frame(100);
    https[23] = 6;
    https[36..38].copy_from_slice(&443_u16.to_be_bytes());
    vec![dns, https]
}

/// A host with `eth0`, 10.0.0.1, and the other end of the link, `peer0`.
fn site() -> Host {
    let here = Host::new("here");
    here.ip("link add eth0 type veth peer name peer0");
    here.ip("address add 10.0.0.1/24 dev eth0");
    here.ip("link set eth0 up");
    here.ip("link set peer0 up");
    here
}

/// Runs a program, while packets arrive at eth0. Returns what it prints, if it succeeds and complains about nothing.
fn run(site: &Host, program: &Program) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let peer = site.netlink().link_named("peer0").expect("peer0").ifindex();
    let frames = frames();
    let path = |name: &str| folder.path().join(name);
    let file = |name: &str| fs::File::create(path(name)).expect("a file");
    let mut command = site.command(program.path().to_str().expect("text"));
    command.stdout(file("stdout")).stderr(file("stderr"));
    let mut child = command.stdin(Stdio::null()).spawn().expect("it runs");
    wait::until(&format!("{} ends", program.place), || {
        site.run(|| send_frames(peer, &frames))
            .expect("packets are sent");
        child.try_wait().expect("its status").is_some()
    });
    let status = child.wait().expect("its status");
    let read = |name: &str| fs::read_to_string(path(name)).expect("its output");
    let (printed, complaints) = (read("stdout"), read("stderr"));
    assert!(
        status.success() && complaints.is_empty(),
        "{}: {status}\n{printed}{complaints}",
        program.place
    );
    printed
}

#[test]
fn the_programs_of_the_guide_receive_what_their_filter_accepts() {
    let (mut programs_run, mut projects) = (0, 0);
    for page in pages() {
        let blocks = blocks(&page);
        let site = site();
        let all = programs(&blocks);
        for program in all.iter().filter(|program| !program.configures()) {
            program.build();
            let printed = run(&site, program);
            let is_https = program.text.contains("port 443");
            let expected = if is_https { "100 bytes" } else { "80 bytes" };
            let printed: Vec<_> = printed.lines().collect();
            assert_eq!(printed, vec![expected; 100], "{}", program.place);
            programs_run += 1;
        }
        let of_cmake = |block: &&Block| block.is_run && block.language == "cmake";
        for project in blocks.iter().filter(of_cmake) {
            cmake(project, &blocks);
            projects += 1;
        }
    }
    assert_eq!((programs_run, projects), (4, 1));
}

/// The programs of all pages that configure the network.
fn configuring_programs() -> Vec<Program> {
    let pages: Vec<_> = pages().iter().map(|page| blocks(page)).collect();
    let all = pages.iter().flat_map(|blocks| programs(blocks));
    all.filter(Program::configures).collect()
}

/// Builds them, once.
pub fn build_configuring_programs() {
    for program in configuring_programs() {
        once::build(&program.path(), || program.build());
    }
}

/// Bridges with VLANs, which one of them needs, may be missing in the running kernel.
#[test]
fn the_programs_of_the_guide_configure_the_network() {
    let all = configuring_programs();
    assert_eq!(all.len(), 2);
    if !is_inside_uml() {
        build_configuring_programs();
    }
    if UML.has_run() {
        return;
    }
    let site = site();
    for program in &all {
        run(&site, program);
    }
    let routes = site.ip("-json route show via 10.0.0.2");
    for network in ["198.51.100.0/24", "203.0.113.0/24"] {
        assert!(routes.contains(network), "{routes}");
    }
    let routes = site.ip("-json route show dev eth0");
    for part in [
        r#""dst":"192.0.2.0/24""#,
        r#""dst":"198.18.0.0/15","scope":"link","metric":50"#,
    ] {
        assert!(routes.contains(part), "{routes}");
    }
    let bridge = site.ip("-json -details link show br0");
    for part in [r#""mtu":1400"#, r#""vlan_filtering":1"#] {
        assert!(bridge.contains(part), "{bridge}");
    }
}

/// Configures and builds a project with the C++ program of its page.
fn cmake(project: &Block, blocks: &[Block]) {
    let folder = workshop().join(project.place.replace(['.', ':'], "_"));
    fs::create_dir(&folder).expect("a folder");
    let source = blocks.iter().find(|block| block.language == "cpp");
    let source = source.expect("the page has a program");
    fs::write(folder.join("CMakeLists.txt"), &project.text).expect("a file");
    fs::write(folder.join("capture.cpp"), &source.text).expect("a file");
    let build = folder.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&folder).arg("-B").arg(&build);
    let prefix = workshop().join("usr");
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    succeed(&mut configure);
    succeed(Command::new("cmake").arg("--build").arg(&build));
    let symbols = succeed(Command::new("nm").arg("-D").arg(build.join("program")));
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    assert!(symbols.contains("tapline_capture_open"), "{symbols}");
}

/// The names of C in a text that begin with `prefix`. One that ends with an underscore stands for all that begin so.
fn names<'t>(text: &'t str, prefix: &str) -> BTreeSet<&'t str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter: char| !is_part(letter));
    words.filter(|word| word.starts_with(prefix)).collect()
}

/// What the pages name is declared in the headers: those of this library, of libpcap and of libnl.
#[test]
fn functions_that_the_guide_names_exist() {
    // libnl 3.7 does not have it yet.
    const NEWER: [&str; 1] = ["rtnl_link_bridge_set_vlan_filtering"];
    let declarations = |paths: Vec<PathBuf>| -> String {
        let texts = paths.iter().map(|path| fs::read(path).expect("a header"));
        let texts = texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        texts.collect()
    };
    let of_pcap = ["pcap.h", "bpf.h"].map(|name| Path::new("/usr/include/pcap").join(name));
    let headers: [(&[&str], String); 3] = [
        (&["tapline_"], declarations(files(&room().join("include")))),
        (&["pcap_", "bpf_"], declarations(of_pcap.to_vec())),
        (
            &[
                "nl_", "rtnl_", "flnl_", "nlmsg_", "nla_", "genl_", "nfnl_", "xfrmnl_",
            ],
            declarations(files(Path::new("/usr/include/libnl3"))),
        ),
    ];
    let mut count = 0;
    for page in ["c.md", "coming-from-libnl.md", "coming-from-libpcap.md"] {
        let text = fs::read_to_string(repository().join("docs/guide").join(page));
        let text = text.expect("the page");
        for (prefixes, declared) in &headers {
            for prefix in *prefixes {
                let declared = names(declared, prefix);
                for name in names(&text, prefix) {
                    let is_declared = if name.ends_with('_') {
                        declared.iter().any(|one| one.starts_with(name))
                    } else {
                        declared.contains(name) || NEWER.contains(&name)
                    };
                    assert!(is_declared, "{page}: {name}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 150, "they are found: {count}");
}

/// The compiler commands of the guide build the programs of their page.
#[test]
fn the_commands_that_build_programs_do() {
    let page = repository().join("docs/guide/c.md");
    let text = fs::read_to_string(&page).expect("the page");
    let (_, rest) = text.split_once("```sh build\n").expect("a block");
    let (script, _) = rest.split_once("```").expect("its end");
    assert_eq!(script.lines().count(), 2);
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks(&page);
    for language in ["c", "cpp"] {
        let program = blocks.iter().find(|block| block.language == language);
        let text = &program.expect("a program").text;
        let path = folder.path().join("capture").with_extension(language);
        fs::write(path, text).expect("a file");
    }
    for line in script.lines() {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", line]).current_dir(&folder);
        let packages = workshop().join("usr/lib/pkgconfig");
        succeed(command.env("PKG_CONFIG_PATH", packages));
        let program = folder.path().join("capture");
        let symbols = succeed(Command::new("nm").arg("-D").arg(&program));
        let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
        assert!(
            symbols.contains("tapline_capture_open"),
            "{line}: {symbols}"
        );
        fs::remove_file(program).expect("a file");
    }
}

#[test]
fn blocks_that_are_not_run_say_why() {
    let all: Vec<_> = pages().iter().flat_map(|page| blocks(page)).collect();
    let languages: BTreeSet<_> = all.iter().map(|block| block.language).collect();
    assert_eq!(languages.len(), LANGUAGES.len(), "{languages:?}");
    let excluded: Vec<_> = all.iter().filter(|block| !block.is_run).collect();
    assert_eq!(excluded.len(), NOT_RUN, "{excluded:#?}");
}
