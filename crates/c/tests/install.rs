//! What `make install` puts below its prefix serves pkg-config and CMake.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{built, install, pkg_config, room, succeed};

const ANSWER: &str = concat!(env!("CARGO_PKG_VERSION"), " 0\n");

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

#[test]
fn an_installed_library_is_found_by_pkg_config_and_by_cmake() {
    let folder = built().join("install");
    let _ = fs::remove_dir_all(&folder);
    let [prefix, other] = ["usr", "other"].map(|name| folder.join(name));
    install(&prefix);
    // Without regard to the umask, which `install` has set.
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

    // A CMake package can be moved.
    fs::rename(&prefix, &other).expect("another place");
    let build = folder.join("build");
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(room().join("tests/install"))
        .arg("-B")
        .arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", other.display()));
    succeed(&mut configure);
    succeed(Command::new("cmake").arg("--build").arg(&build));
    for name in ["shared_c", "shared_cpp", "static_c"] {
        answers(&build.join(name));
    }
    let installed: Vec<_> = fs::read_dir(other.join("include/tapline"))
        .expect("the C++ headers")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(installed.len() >= 9, "{installed:?}");
    fs::remove_dir_all(&folder).expect("the archive is large");
}
