//! `tapline run`: the program runs with the library, or an error states why it cannot.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What `tapline run ARGUMENTS` prints.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command.arg("run").args(arguments).env_remove("LD_PRELOAD");
    command.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A library that says that it is loaded, in a folder of its own.
fn library() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("hello.c");
    let code = "#include <unistd.h>\n__attribute__((constructor)) static void hello(void)\n\
                { if (write(1, \"loaded\\n\", 7) != 7) _exit(1); }\n";
    fs::write(&source, code).expect("a file");
    let library = folder.path().join("hello.so");
    let mut compiler = Command::new("gcc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    assert!(compiler.status().expect("gcc runs").success());
    let path = library
        .canonicalize()
        .expect("a path")
        .display()
        .to_string();
    (folder, path)
}

/// A copy of a program of this machine.
fn copy(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::copy(lab::tool::path("setpriv"), &path).expect("a copy");
    path
}

#[test]
fn the_program_gets_the_library_and_its_arguments() {
    let (_folder, library) = library();
    let script = "echo \"$0 $1 $LD_PRELOAD\"; exit 7";
    let output = run(&[
        "--library",
        &library,
        "--",
        "sh",
        "-c",
        script,
        "name",
        "-n",
    ]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), format!("loaded\nname -n {library}\n"));
    let said = text(&output.stderr);
    assert!(said.starts_with("tapline: running /"), "{said}");
    assert!(
        said.ends_with(&format!("/sh with {library} in place of libpcap\n")),
        "{said}"
    );
    let quiet = run(&["-q", "--library", &library, "sh", "-c", "true"]);
    assert_eq!(
        (text(&quiet.stdout), text(&quiet.stderr)),
        ("loaded\n".into(), String::new())
    );
}

#[test]
fn a_folder_with_links_is_searched_first() {
    let (folder, library) = library();
    let script = "echo \"$LD_LIBRARY_PATH\"";
    let searched = || {
        let output = run(&["-q", "--library", &library, "--", "sh", "-c", script]);
        text(&output.stdout).replace("loaded\n", "")
    };
    let outside = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    assert_eq!(searched(), format!("{outside}\n"));
    fs::create_dir(folder.path().join("tapline")).expect("a folder");
    let links = library.replace("hello.so", "tapline");
    assert!(searched().starts_with(&links), "{links}");
}

#[test]
fn programs_that_cannot_get_the_library_are_refused_with_a_reason() {
    let (folder, library) = library();
    let refused = |program: &PathBuf, reason: &str| {
        let path = program.to_str().expect("a path of text");
        let output = run(&["--library", &library, "--", path, "--help"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(output.stdout.is_empty(), "it did not run");
        assert!(said.contains(reason), "{said}");
    };
    let setuid = copy(&folder, "setuid");
    chown(&setuid, Some(65_534), None).expect("root");
    fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).expect("its owner");
    refused(&setuid, "it is setuid");
    let setgid = copy(&folder, "setgid");
    chown(&setgid, None, Some(65_534)).expect("root");
    fs::set_permissions(&setgid, fs::Permissions::from_mode(0o2755)).expect("its owner");
    refused(&setgid, "it is setgid");
    let fixed = folder.path().join("fixed");
    let source = folder.path().join("fixed.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("a file");
    let mut compiler = Command::new("gcc");
    compiler.args(["-static", "-o"]).arg(&fixed).arg(&source);
    assert!(compiler.status().expect("gcc runs").success());
    refused(&fixed, "it is a static program");
}

/// They would start the program without the variable: here, without the library.
#[test]
fn programs_that_remove_the_variable_are_refused() {
    let (folder, library) = library();
    for arguments in [&["sudo", "--dump"][..], &["doas", "--dump"], &["su", "-"]] {
        let program = copy(&folder, arguments[0]);
        let path = program.to_str().expect("a path of text");
        let output = run(&["--library", &library, "--", path, arguments[1]]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(output.stdout.is_empty(), "it did not run");
        assert!(said.contains("it removes LD_PRELOAD"), "{said}");
    }
}

/// `struct vfs_cap_data` of linux/capability.h, version 2: `CAP_NET_RAW` is permitted and effective.
const CAPABILITIES: [u32; 5] = [0x0200_0001, 1 << 13, 0, 0, 0];

/// As [`copy`], with file capabilities, in a folder that everybody may read.
fn capable(folder: &TempDir, name: &str) -> PathBuf {
    let readable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder, readable).expect("its owner");
    let program = copy(folder, name);
    let value: Vec<u8> = CAPABILITIES
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&program, "security.capability", &value, flags).expect("root");
    program
}

/// What `tapline run PROGRAM --dump` ends with and prints if a user starts it.
fn run_by(user: &str, library: &str, program: &Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(lab::tool::path("setpriv"));
    command.args([&format!("--reuid={user}"), "--clear-groups"]);
    command.args([env!("CARGO_BIN_EXE_tapline"), "run", "--library", library]);
    let output = command.arg("--").arg(program).arg("--dump").output();
    let output = output.expect("it runs");
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_script_is_refused_if_its_interpreter_is() {
    let (folder, library) = library();
    let interpreter = capable(&folder, "capable");
    let script = folder.path().join("script");
    let line = format!("#!{} --reuid=0\n", interpreter.display());
    fs::write(&script, line).expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its owner");
    let (status, printed, said) = run_by("65534", &library, &script);
    assert_eq!((status, &*printed), (Some(4), ""), "{said}");
    let reason = format!(
        "its interpreter is {}: it has file capabilities",
        interpreter.display()
    );
    assert!(said.contains(&reason), "{said}");
}

#[test]
fn tshark_is_refused_if_the_dumpcap_that_it_starts_has_file_capabilities() {
    let (folder, library) = library();
    let dumpcap = capable(&folder, "dumpcap");
    let tshark = copy(&folder, "tshark");
    let (status, printed, said) = run_by("65534", &library, &tshark);
    assert_eq!((status, &*printed), (Some(4), ""), "{said}");
    let reason = format!("it captures with {}: it has file", dumpcap.display());
    assert!(said.contains(&reason), "{said}");
    let (status, printed, said) = run_by("0", &library, &tshark);
    assert_eq!(status, Some(0), "{said}");
    assert!(printed.starts_with("loaded\n"), "{printed}");
}

#[test]
fn programs_with_file_capabilities_are_refused_unless_root_starts_them() {
    let (folder, library) = library();
    let program = capable(&folder, "capable");
    let run_by = |user: &str| run_by(user, &library, &program);
    let (status, printed, said) = run_by("65534");
    assert_eq!((status, &*printed), (Some(4), ""), "{said}");
    assert!(said.contains("it has file capabilities"), "{said}");
    let (status, printed, said) = run_by("0");
    assert_eq!(status, Some(0), "{said}");
    assert!(printed.starts_with("loaded\n"), "{printed}");
    // What the refusal spares the user: the linker starts the program without the library.
    let mut direct = Command::new(lab::tool::path("setpriv"));
    direct
        .args(["--reuid=65534", "--clear-groups"])
        .arg(&program);
    let output = direct.arg("--dump").env("LD_PRELOAD", &library).output();
    let output = output.expect("it runs");
    let printed = text(&output.stdout);
    // setpriv itself has the library.
    assert_eq!(printed.matches("loaded\n").count(), 1, "{printed}");
}

#[test]
fn what_is_missing_is_named() {
    let (_folder, library) = library();
    for (arguments, reason) in [
        (
            &["--library", "/nonexistent.so", "true"][..],
            "there is no library /nonexistent.so",
        ),
        (
            &["--library", &library, "no-such-program"],
            "cannot find no-such-program in PATH",
        ),
        (
            &["--library", &library, "/nonexistent/program"],
            "there is no program /nonexistent/program",
        ),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(run(&[]).status.code(), Some(2));
}
