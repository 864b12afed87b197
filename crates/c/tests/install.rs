//! What `make install` puts below its prefix serves pkg-config and CMake.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::{
    archive, built, library, library_script, link_once, pkg_config, repository, room, succeed,
};

/// The version of the header, that of the library, and a status.
const ANSWER: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " ",
    env!("CARGO_PKG_VERSION"),
    " 0\n"
);

fn output(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stdout).expect("text")
}

fn answers(program: &Path) {
    assert_eq!(
        output(&mut Command::new(program)),
        ANSWER,
        "{}",
        program.display()
    );
}

/// Stands in for the program, which `make install` has generate its manual pages and completions.
const PROGRAM: &str = "#!/bin/sh
[ \"$1\" = generate ] || exit 1
mkdir -p \"$2/man\" \"$2/completions\"
touch \"$2/man/tapline.1\" \"$2/completions/tapline.bash\" \"$2/completions/_tapline\" \"$2/completions/tapline.fish\"
";

/// Runs the recipe of `make install` for a user whose new files others may not read, with the library of this build. The
/// program and libpcap's library, which are not tested here, have stand-ins.
fn make_install(folder: &Path, prefix: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let program = folder.join("program");
    fs::write(&program, PROGRAM).expect("a file");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("an own file");
    let mut command = Command::new("sh");
    command.args(["-c", r#"umask 077; exec "$@""#, "sh", "make", "install"]);
    command.arg("-C").arg(repository());
    // What the recipe depends on exists.
    for target in ["build", "c-library", "pcap-library"] {
        command.args(["-o", target]);
    }
    for (variable, value) in [
        ("PREFIX", prefix.to_owned()),
        ("C_LIBRARY", archive().to_owned()),
        ("PCAP_LIBRARY", library().join("libtapline.so")),
        ("BINARY", program),
        ("MANUAL", folder.join("manual")),
    ] {
        command.arg(format!("{variable}={}", value.display()));
    }
    // Those of a `make test` that runs this are not for this one.
    for variable in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "DESTDIR", "EXTCAP"] {
        command.env_remove(variable);
    }
    // The stand-in for the program has no debugging information that could be split off.
    succeed(link_once(&mut command).env("KEEP_DEBUG", "1"));
}

/// CMake builds programs below `build` with the library below `prefix`.
#[track_caller]
fn cmake_finds(prefix: &Path, build: &Path) {
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(room().join("tests/install"))
        .arg("-B")
        .arg(build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    succeed(&mut configure);
    succeed(Command::new("cmake").arg("--build").arg(build));
    for name in ["shared_c", "shared_cpp", "static_c"] {
        answers(&build.join(name));
    }
}

#[test]
fn a_relative_folder_gets_the_headers_and_the_library_of_an_architecture() {
    let folder = tempfile::tempdir().expect("a folder");
    let architecture = output(Command::new("cc").arg("-print-multiarch"));
    let mut command = library_script();
    command.args(["tree/usr", "/usr"]);
    command.arg(format!("lib/{}", architecture.trim()));
    succeed(command.current_dir(&folder));
    let prefix = folder.path().join("tree/usr");
    for header in ["capture.hpp", "netlink/link.hpp"] {
        assert_eq!(
            fs::read(prefix.join("include/tapline").join(header)).expect("a header"),
            fs::read(room().join("include/tapline").join(header)).expect("its source"),
        );
    }
    cmake_finds(&prefix, &folder.path().join("build"));
}

#[test]
fn an_installed_library_is_found_by_pkg_config_and_by_cmake() {
    let folder = built().join("install");
    let _ = fs::remove_dir_all(&folder);
    let [prefix, other] = ["usr", "other"].map(|name| folder.join(name));
    make_install(&folder, &prefix);
    // Without regard to the umask.
    let hidden = output(Command::new("find").arg(&prefix).args([
        "!", "-perm", "-0444", "-o", "-type", "d", "!", "-perm", "-0555",
    ]));
    assert_eq!(hidden, "", "all may read what is installed");
    assert_eq!(
        pkg_config(&prefix, &["--modversion"]).trim(),
        env!("CARGO_PKG_VERSION")
    );
    let program = folder.join("by_pkg_config");
    let mut command = Command::new("cc");
    command
        .arg("-o")
        .arg(&program)
        .arg(room().join("tests/install/version.c"));
    command.args(pkg_config(&prefix, &["--cflags", "--libs"]).split_whitespace());
    command.arg(format!("-Wl,-rpath,{}/lib", prefix.display()));
    succeed(&mut command);
    answers(&program);
    // The static library exports the same functions as the shared one, and nothing of Rust or zstd.
    let exported = |library: &str, table: &str| {
        let mut command = Command::new("nm");
        command.args([table, "--defined-only", "--format=just-symbols"]);
        let listed = output(command.arg(prefix.join("lib").join(library)));
        let names = listed.lines().map(|line| line.replace("@@TAPLINE_0.1", ""));
        let is_symbol = |name: &String| !["", "tapline.o:", "TAPLINE_0.1"].contains(&name.as_str());
        names.filter(is_symbol).collect::<BTreeSet<_>>()
    };
    let [shared, in_archive] = [("libtapline.so", "-D"), ("libtapline.a", "-g")]
        .map(|(library, table)| exported(library, table));
    assert!(shared.contains("tapline_version"), "{shared:?}");
    assert_eq!(in_archive, shared);
    // With the C library, too, the program is one file.
    let whole = folder.join("static_by_pkg_config");
    let mut command = Command::new("cc");
    command.args(["-static", "-o"]).arg(&whole);
    command.arg(room().join("tests/install/version.c"));
    let flags = pkg_config(&prefix, &["--static", "--cflags", "--libs"]);
    succeed(command.args(flags.split_whitespace()));
    answers(&whole);
    // A program needs the name that all compatible versions have, and not that of one version.
    let needed = output(Command::new("readelf").arg("-d").arg(&program));
    assert!(needed.contains("[libtapline.so.0]"), "{needed}");
    // A plug-in that uses it may be unloaded.
    let plug_in = folder.join("plug_in");
    let mut command = Command::new("cc");
    command.arg("-o").arg(&plug_in);
    command.arg(room().join("tests/install/plug_in.c"));
    succeed(command.arg("-ldl"));
    let loaded = output(Command::new(plug_in).arg(prefix.join("lib/libtapline.so")));
    assert_eq!(loaded, "loaded, closed, still loaded\n");

    // A CMake package can be moved, and found through a link to its libraries, as /lib is one to /usr/lib.
    fs::rename(&prefix, &other).expect("another place");
    let merged = folder.join("merged");
    fs::create_dir(&merged).expect("a folder");
    symlink(other.join("lib"), merged.join("lib")).expect("a link");
    cmake_finds(&merged, &folder.join("build"));
    let installed: Vec<_> = fs::read_dir(other.join("include/tapline"))
        .expect("the C++ headers")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(installed.len() >= 9, "{installed:?}");
    fs::remove_dir_all(&folder).expect("the archive is large");
}
