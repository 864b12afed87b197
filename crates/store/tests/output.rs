//! tapline does not write to files that other users have prepared. Requires root, because it creates files of other
//! users.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};
use tapline_store::output::OpenOutput;
use tempfile::TempDir;

const STRANGER: u32 = 12_345;

/// A folder with a `file` that holds "kept", and a directory `shared` that is like /tmp.
struct Scene(TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().expect("a folder"));
        fs::write(scene.path("file"), "kept").expect("written");
        fs::create_dir(scene.path("shared")).expect("a directory");
        fs::set_permissions(scene.path("shared"), Permissions::from_mode(0o1777)).expect("ours");
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a link of somebody.
    fn link(&self, name: &str, target: impl AsRef<Path>, owner: u32) {
        symlink(target, self.path(name)).expect("a link");
        lchown(self.path(name), Some(owner), None).expect("root");
    }

    /// Writes "new" to a file.
    fn write(&self, name: &str) -> std::io::Result<()> {
        let mut file = OpenOutput::create().truncate().open(&self.path(name))?;
        file.write_all(b"new")
    }

    #[track_caller]
    fn refuses(&self, name: &str, what: &str) {
        let error = self.write(name).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        let text =
            format!("it is {what} of user {STRANGER}, in a directory where others can write");
        assert!(error.to_string().starts_with(&text), "{error}");
        assert_eq!(
            fs::read_to_string(self.path("file")).expect("a file"),
            "kept"
        );
    }

    #[track_caller]
    fn writes(&self, name: &str, to: &str) {
        self.write(name).expect("written");
        assert_eq!(fs::read_to_string(self.path(to)).expect("a file"), "new");
        fs::write(self.path("file"), "kept").expect("written");
    }
}

#[test]
fn links_of_others_are_not_followed() {
    let scene = Scene::new();
    scene.link("shared/link", scene.path("file"), STRANGER);
    scene.refuses("shared/link", "a link");
    scene.link("shared/dangling", scene.path("missing"), STRANGER);
    scene.refuses("shared/dangling", "a link");
    assert!(!scene.path("missing").exists());
    scene.link("shared/folder", scene.path(""), STRANGER);
    scene.refuses("shared/folder/file", "a link");
    // A link of ours to one of theirs.
    scene.link("link", "shared/link", 0);
    scene.refuses("link", "a link");
}

#[test]
fn files_and_pipes_of_others_are_not_written_to() {
    let scene = Scene::new();
    fs::write(scene.path("shared/theirs"), "kept").expect("written");
    chown(scene.path("shared/theirs"), Some(STRANGER), None).expect("root");
    scene.refuses("shared/theirs", "a file");
    // It has no reader: an open would wait.
    let pipe = scene.path("shared/pipe");
    mkfifoat(CWD, &pipe, Mode::RWXU).expect("a pipe");
    chown(pipe, Some(STRANGER), None).expect("root");
    scene.refuses("shared/pipe", "a pipe");
}

#[test]
fn a_file_with_a_second_name_is_not_written_to_where_others_can_give_it() {
    let scene = Scene::new();
    fs::hard_link(scene.path("file"), scene.path("shared/second")).expect("a name");
    let error = scene.write("shared/second").expect_err("refused");
    let text = "it is a second name of a file of user 0, in a directory where others can write";
    assert!(error.to_string().starts_with(text), "{error}");
    scene.writes("file", "shared/second");
}

#[test]
fn the_owner_of_a_directory_is_another_user() {
    let scene = Scene::new();
    fs::create_dir(scene.path("home")).expect("a directory");
    chown(scene.path("home"), Some(STRANGER), None).expect("root");
    scene.link("home/link", scene.path("file"), STRANGER);
    scene.refuses("home/link", "a link");
    scene.writes("home/new", "home/new");
}

#[test]
fn links_of_ours_and_in_directories_of_ours_are_followed() {
    let scene = Scene::new();
    scene.link("shared/ours", "../file", 0);
    scene.writes("shared/ours", "file");
    scene.link("theirs", "file", STRANGER);
    scene.writes("theirs", "file");
    scene.link("new", "shared/new", 0);
    scene.writes("new", "shared/new");
    scene.writes("shared/../shared/new", "shared/new");
    let mode = fs::metadata(scene.path("shared/new"))
        .expect("a file")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn the_links_of_proc_lead_to_what_is_open() {
    let scene = Scene::new();
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut file = OpenOutput::create()
        .truncate()
        .open(Path::new(&path))
        .expect("open");
    file.write_all(b"new").expect("written");
    let mut read = [0; 3];
    reader.read_exact(&mut read).expect("read");
    assert_eq!(&read, b"new");
    let file = File::open(scene.path("")).expect("a folder");
    let path = format!("/proc/self/fd/{}/file", file.as_raw_fd());
    OpenOutput::existing().open(Path::new(&path)).expect("open");
}

#[test]
fn what_cannot_be_opened_has_the_error_of_the_kernel() {
    let scene = Scene::new();
    let error = |name: &str| scene.write(name).expect_err("an error").kind();
    assert_eq!(error("shared"), ErrorKind::IsADirectory);
    assert_eq!(error("shared/"), ErrorKind::IsADirectory);
    assert_eq!(error("file/"), ErrorKind::IsADirectory);
    assert_eq!(error("missing/file"), ErrorKind::NotFound);
    assert_eq!(error("file/file"), ErrorKind::NotADirectory);
    scene.link("loop", "loop", 0);
    let error = scene.write("loop").expect_err("an error").raw_os_error();
    assert_eq!(error, Some(rustix::io::Errno::LOOP.raw_os_error()));
    let missing = OpenOutput::existing().open(&scene.path("missing"));
    assert_eq!(missing.expect_err("missing").kind(), ErrorKind::NotFound);
    assert!(!scene.path("missing").exists());
}
