//! Builds programs in C and C++ with the library of this build, and runs them on test hosts.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;

use lab::{Host, once};

/// This crate.
pub fn room() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The repository.
pub fn repository() -> &'static Path {
    room().ancestors().nth(2).expect("crates/c is below it")
}

/// A folder of this test program for what it builds.
pub fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("c")
}

/// The static library that cargo built with this program, without debugging information. That would be most of it:
/// linkers would copy it, and valgrind would read that of the library at each start, for seconds.
pub fn archive() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| {
        fs::create_dir_all(built()).expect("a folder");
        let stripped = built().join("libtapline_c.a");
        let mut command = Command::new("strip");
        command.args(["--strip-debug", "-o"]).arg(&stripped);
        succeed(command.arg(newest_archive()));
        stripped
    })
}

/// Of the static libraries beside this program, the newest.
fn newest_archive() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let folder = program.parent().expect("its folder");
    let entries = fs::read_dir(folder).expect("the folder of dependencies");
    let archives = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            name.starts_with("libtapline_c") && path.extension().is_some_and(|end| end == "a")
        });
    let newest = archives.max_by_key(|path| {
        let metadata = path.metadata().expect("its metadata");
        metadata.modified().expect("its time")
    });
    newest.expect("cargo builds the static library")
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// Has `packaging/c-library.sh`, which `command` runs, copy what it has linked before for another test.
pub fn link_once(command: &mut Command) -> &mut Command {
    static LINKED: OnceLock<PathBuf> = OnceLock::new();
    let linked = LINKED.get_or_init(|| {
        let folder = built().join("linked");
        // Of another build.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    });
    let linker = room().join("tests/link-once.sh");
    command.env("CC", linker).env("LINKED", linked)
}

/// `packaging/c-library.sh` with the static library as its first argument.
pub fn library_script() -> Command {
    let mut command = Command::new(repository().join("packaging/c-library.sh"));
    link_once(&mut command).arg(archive());
    command
}

/// The folder with `libtapline.so`. It has only the symbols that it exports: valgrind would read the others at each start,
/// for a quarter of its time.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = built().join("lib");
        succeed(library_script().arg(&folder));
        let library = fs::canonicalize(folder.join("libtapline.so")).expect("the library");
        succeed(Command::new("strip").arg("--strip-all").arg(library));
        folder
    })
}

/// Whether this program runs under User-Mode Linux, where it cannot build anything.
pub fn is_inside_uml() -> bool {
    std::env::var_os("TAPLINE_LAB_INSIDE_UML").is_some()
}

/// Installs the library below `prefix`, as the recipe of `make install` does.
pub fn install(prefix: &Path) {
    succeed(library_script().args([prefix, prefix]));
}

/// What `pkg-config WORDS tapline` prints for the library below `prefix`.
pub fn pkg_config(prefix: &Path, words: &[&str]) -> String {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let output = succeed(command.args(words).arg("tapline"));
    String::from_utf8(output.stdout).expect("text")
}

/// The files in a folder and below.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    found.collect()
}

/// Warnings that the headers must not cause.
pub const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"];

/// They end a program that uses memory wrongly. With optimisation they take several times as long to compile.
pub const SANITIZERS: [&str; 3] = [
    "-O0",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

/// The endings of sources.
pub const LANGUAGES: [&str; 2] = ["c", "cpp"];

/// Has a compiler make a program of `source`, a path below this crate, with the headers of this crate. Returns its path.
#[track_caller]
fn compile(compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let folder = built().join(compiler);
    fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(source.replace(['/', '.'], "_"));
    once::build(&program, || build(compiler, source, flags, &program));
    program
}

/// GCC's compiler for `source`, and the standard of its language.
fn gcc(source: &str) -> (&'static str, &'static str) {
    if Path::new(source).extension().is_some_and(|end| end == "c") {
        ("gcc", "-std=c11")
    } else {
        ("g++", "-std=c++20")
    }
}

/// The C++ program that uses the most of the headers: GCC reports what it finds while it optimises.
const OPTIMISED: &str = "tests/programs/misuse.cpp";

fn build(compiler: &str, source: &str, flags: &[&str], program: &Path) {
    let library = library();
    let (c_compiler, standard) = gcc(source);
    let mut command = Command::new(compiler);
    // Optimised, C++ takes half as long again to compile, and C no time.
    let level = match c_compiler {
        "g++" if source != OPTIMISED => "-O0",
        _ => "-O2",
    };
    // Lines for the reports of the checkers; more would double the time that it takes.
    command.args([standard, "-g1", level]).args(WARNINGS);
    command.arg("-I").arg(room().join("include"));
    if compiler == "clang++" {
        let (headers, code) = precompiled();
        command.arg("-include-pch").arg(headers).arg(code);
    }
    command.arg(room().join(source)).args(flags);
    command.arg("-o").arg(program).arg("-L").arg(library);
    command
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .args(["-ltapline", "-pthread"]);
    succeed(&mut command);
}

/// The headers of this library as clang has read them, once for all C++ programs under the sanitizers, and the object with
/// the functions that they define. That is most of what a program that configures the network is compiled to.
///
/// GCC compiles each program without them, and reports what one uses and does not include.
pub fn precompiled() -> &'static (PathBuf, PathBuf) {
    static PRECOMPILED: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    PRECOMPILED.get_or_init(|| {
        let folder = built().join("clang++");
        fs::create_dir_all(&folder).expect("a folder");
        let [source, headers, object] =
            ["all.hpp", "all.pch", "all.o"].map(|name| folder.join(name));
        let include = room().join("include");
        // Mocks need GoogleTest, which these programs do not link to.
        let all = files(&include).into_iter();
        let all = all.filter(|path| !path.ends_with("netlink/mock.hpp"));
        let all = all.map(|path| format!("#include \"{}\"\n", path.display()));
        let factory = "template class tapline::netlink::BasicNetlinkFactory<void>;\n\
            inline void openFactory() { tapline::netlink::NetlinkFactory::open().value(); }\n";
        fs::write(&source, all.collect::<String>() + factory).expect("a file");
        let clang = || {
            let mut command = Command::new("clang++");
            command.args(["-std=c++20", "-g1", "-pthread"]);
            command.args(WARNINGS).args(SANITIZERS);
            command
        };
        let mut command = clang();
        command.args(["-fpch-instantiate-templates", "-fpch-codegen"]);
        command.args(["-x", "c++-header"]).arg(&source);
        succeed(command.arg("-o").arg(&headers));
        succeed(clang().arg("-c").arg(&headers).arg("-o").arg(&object));
        (headers, object)
    })
}

/// What watches how a program uses memory, and makes it fail if it does so wrongly. Each has another compiler, so that
/// programs are built without a warning by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checker {
    /// AddressSanitizer and UndefinedBehaviorSanitizer of clang, which takes a third of the time that GCC takes with them.
    Sanitizers,
    /// Valgrind, which sees what the library does, too, on a program of GCC.
    Valgrind,
}

/// All checkers.
pub const CHECKERS: [Checker; 2] = [Checker::Sanitizers, Checker::Valgrind];

impl Checker {
    /// The program of `source`, a path below this crate, to be run under this checker. Built once.
    #[track_caller]
    pub fn program(self, source: &str, flags: &[&str]) -> Checked {
        let (compiler, own): (_, &[&str]) = match (self, gcc(source).0) {
            (Self::Sanitizers, "gcc") => ("clang", &SANITIZERS),
            (Self::Sanitizers, _) => ("clang++", &SANITIZERS),
            (Self::Valgrind, compiler) => (compiler, &[]),
        };
        Checked {
            checker: self,
            path: compile(compiler, source, &[flags, own].concat()),
        }
    }
}

/// The program of `source` under the sanitizers alone. GCC reports the warnings of this one, too.
#[track_caller]
pub fn sanitized(source: &str) -> Checked {
    let (compiler, standard) = gcc(source);
    // With optimisation, GCC finds more mistakes in C, in the same time.
    let level: &[&str] = match compiler {
        "gcc" => &["-O2", "-S", "-o", "/dev/null"],
        _ => &["-fsyntax-only"],
    };
    // Nothing is built there: each source has its path, and is compiled once.
    let checked = built().join(compiler).join(source);
    once::build(&checked, || {
        let mut command = Command::new(compiler);
        command.args([standard, "-pthread"]).args(level);
        command.args(WARNINGS).arg("-I").arg(room().join("include"));
        succeed(command.arg(room().join(source)));
    });
    Checker::Sanitizers.program(source, &[])
}

/// A program under a checker.
pub struct Checked {
    pub checker: Checker,
    pub path: PathBuf,
}

impl Checked {
    /// A command that runs the program on a host. Arguments are to be added.
    pub fn command(&self, host: &Host) -> Command {
        let program = self.path.to_str().expect("a path of text");
        if self.checker == Checker::Sanitizers {
            return host.command(program);
        }
        let mut command = host.command("valgrind");
        command.args(["--error-exitcode=9", "--quiet", "--leak-check=full"]);
        command.args([
            "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite",
            // Of functions that a compiler inlined. Reading them takes time at each start.
            "--read-inline-info=no",
        ]);
        command.arg(program);
        command
    }

    /// Starts the program on a host.
    #[track_caller]
    pub fn start(&self, host: &Host, arguments: &[&str]) -> Running {
        let mut command = self.command(host);
        command.args(arguments).stdout(Stdio::piped());
        run(command)
    }
}

/// The programs of `path`, without an ending, in both languages. That in C++ runs under both checkers: valgrind sees what the
/// library does with memory, and values that the headers leave uninitialised. It would see the same calls of the library in
/// the program in C.
#[track_caller]
pub fn twins(path: &str) -> [Checked; 3] {
    let cpp = format!("{path}.cpp");
    let [sanitizers, valgrind] = CHECKERS.map(|checker| checker.program(&cpp, &[]));
    [sanitized(&format!("{path}.c")), sanitizers, valgrind]
}

/// A program that runs on a host and prints lines. Dropping it kills the program.
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Starts `command`, whose output is piped.
#[track_caller]
pub fn run(mut command: Command) -> Running {
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let output = child.stdout.take().expect("a pipe");
    Running {
        child,
        lines: BufReader::new(output).lines(),
    }
}

impl Running {
    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the program's standard input, which is a pipe.
    pub fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// The next line.
    #[track_caller]
    pub fn line(&mut self) -> String {
        let line = self.lines.next().expect("the program prints a line");
        line.expect("text")
    }

    /// Waits until the program prints `ready`.
    #[track_caller]
    pub fn ready(&mut self) {
        assert_eq!(self.line(), "ready");
    }

    /// The remaining lines of a program that succeeds.
    #[track_caller]
    pub fn finish(mut self) -> Vec<String> {
        let lines = self
            .lines
            .by_ref()
            .map(|line| line.expect("text"))
            .collect();
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {lines:#?}");
        lines
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A program that has ended cannot be killed.
        if self.child.kill().is_ok() {
            self.child.wait().expect("it ends");
        }
    }
}

/// What tshark reads of each packet of a file, its interface too if the file has several.
pub fn packets_of(file: &str, has_interfaces: bool) -> String {
    let mut command = lab::tool::command("tshark");
    command.args(["-n", "-o", "frame.generate_md5_hash:TRUE", "-T", "fields"]);
    let mut fields = vec!["encap_type", "time_epoch", "len", "cap_len", "md5_hash"];
    if has_interfaces {
        fields.extend(["interface_id", "interface_name"]);
    }
    for field in fields {
        command.args(["-e", &format!("frame.{field}")]);
    }
    let shown = succeed(command.args(["-r", file])).stdout;
    let shown = String::from_utf8(shown).expect("text");
    // It shows custom blocks, too, without an encapsulation.
    let packets = shown.lines().filter(|line| !line.starts_with('\t'));
    packets.flat_map(|line| [line, "\n"]).collect()
}

/// Files to copy: of raw IP, and with interfaces that appear after packets.
pub fn files_to_copy() -> impl Iterator<Item = (String, bool)> {
    let corpus = repository().join("lab/corpus");
    let files = [
        ("captures/LINKTYPE_RAW_ipv4.pcap", false),
        ("pcapng/le/test005.pcapng", true),
        ("pcapng/le/test102.pcapng", true),
    ];
    files.into_iter().map(move |(name, has_interfaces)| {
        let path = corpus.join(name).display().to_string();
        (path, has_interfaces)
    })
}

/// Bytes in hexadecimal, as the programs print them.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).expect("four bits");
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}
