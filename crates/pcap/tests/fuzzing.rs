//! Requirements of libpcap's fuzz targets: panics end the process, and inputs have every link-layer header type.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::support::{built, repository, room, succeed};

/// A function of C that panics.
const PROGRAM: &str = r#"
mod ffi {
    #[path = "FOLDER/cancel.rs"]
    pub mod cancel;
    #[path = "FOLDER/guard.rs"]
    pub mod guard;
}

extern "C" fn exported() -> i32 {
    ffi::guard::guard(-1, || panic!("seen"))
}

fn main() {
    println!("{}", exported());
}
"#;

#[test]
fn a_panic_ends_the_process_in_fuzz_builds_only() {
    let folder = built().join(format!("fuzzing-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("main.rs");
    let modules = room().join("src/ffi");
    let text = PROGRAM.replace("FOLDER", modules.to_str().expect("a path of text"));
    fs::write(&source, text).expect("a file");
    let built_with = |flags: &[&str]| {
        let program = folder.join(format!("program-{}", flags.len()));
        let mut compiler = Command::new("rustc");
        compiler.args(["--edition", "2024", "-A", "warnings"]);
        compiler.arg("-o").arg(&program).args(flags).arg(&source);
        succeed(compiler.current_dir(&folder));
        let output = Command::new(program).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status, text(output.stdout), text(output.stderr))
    };
    let (status, printed, said) = built_with(&[]);
    assert!(status.success(), "{status}: {said}");
    assert_eq!((&*printed, &*said), ("-1\n", ""));
    let (status, printed, said) = built_with(&["--cfg", "fuzzing"]);
    assert_eq!((status.signal(), &*printed), (Some(libc::SIGABRT), ""));
    assert!(said.contains("seen"), "{said}");
    let script = repository().join("tools/libpcap-fuzz.sh");
    let script = fs::read_to_string(script).expect("a script");
    assert!(script.contains("--cfg fuzzing"));
}

/// The numbers are those of `lab`, which reads the corpus for other tests.
#[test]
fn inputs_of_the_filter_target_have_the_link_type_of_their_filter() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = repository().join("tools/libpcap-seeds.py");
    succeed(
        Command::new("python3")
            .arg(script)
            .arg("fuzz_filter")
            .arg(folder.path()),
    );
    let expected: BTreeSet<Vec<u8>> = lab::oracle::expressions()
        .into_iter()
        .filter_map(|(link, text)| {
            // The target has one byte for the type.
            let dlt = u8::try_from(crate::filters::dlt(link.number())).ok()?;
            Some([text.as_bytes(), &[dlt]].concat())
        })
        .collect();
    let mut types = BTreeSet::new();
    for entry in fs::read_dir(&folder).expect("the folder") {
        let seed = fs::read(entry.expect("an entry").path()).expect("a seed");
        types.extend(seed.last().copied());
        // Names that only libpcap's tests resolve.
        let is_left_out = String::from_utf8_lossy(&seed).contains(".libpcap.test");
        assert!(is_left_out || expected.contains(&seed), "{seed:?}");
    }
    assert!(types.len() > 30, "{types:?}");
}
