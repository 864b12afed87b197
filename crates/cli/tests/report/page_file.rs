//! The file of a page.

use std::fs;
use std::io::{Write, pipe};
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Stdio;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use tempfile::TempDir;

use crate::support::files::pcap;
use crate::support::run::{begin, command, run};
use crate::support::text;

/// A reader that has opened the old page keeps it; a link and another name lead to the new one.
#[test]
fn a_page_is_replaced_as_a_whole() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| text(&folder.path().join(name));
    let (input, page, link, name) = (path("in.pcap"), path("p.html"), path("l"), path("n"));
    fs::write(&input, pcap(&[1, 2, 3])).expect("written");
    fs::write(&page, "old").expect("written");
    symlink("p.html", &link).expect("a link");
    let number = || fs::metadata(&page).expect("a page").ino();
    let names = || fs::read_dir(folder.path()).expect("a folder").count();
    for output in [&page, &link] {
        let before = number();
        run(&format!("report -q {input} -o {output}")).exit(0);
        assert_ne!(number(), before, "{output}");
        assert_eq!(names(), 3);
    }
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    fs::hard_link(&page, &name).expect("a name");
    fs::write(&page, "old").expect("written");
    let before = number();
    run(&format!("report -q {input} -o {page}")).exit(0);
    assert_eq!((number(), names()), (before, 4));
    let written = fs::read_to_string(&name).expect("a page");
    assert!(written.trim_end().ends_with("</html>"), "{written}");
}

/// Without the list, a group that may not read the page could: the mode shows the mask in its place.
#[test]
fn a_page_keeps_its_access_control_list() {
    const NAME: &str = "system.posix_acl_access";
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| text(&folder.path().join(name));
    let (input, page) = (path("in.pcap"), path("p.html"));
    fs::write(&input, pcap(&[1])).expect("written");
    fs::write(&page, "old").expect("written");
    // The owner, user 1234, the group, the mask and others (include/uapi/linux/posix_acl.h).
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, u32::MAX),
        (2, 4, 1234),
        (4, 0, u32::MAX),
        (16, 4, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    setxattr(page.as_str(), NAME, &list, XattrFlags::empty()).expect("a file system with lists");
    run(&format!("report -q {input} -o {page}")).exit(0);
    let mut found = [0_u8; 64];
    let bytes = getxattr(page.as_str(), NAME, &mut found[..]).expect("a list");
    assert_eq!(found[..bytes], list[..]);
    let written = fs::read_to_string(&page).expect("a page");
    assert!(written.trim_end().ends_with("</html>"), "{written}");
}

#[test]
fn a_page_that_cannot_be_written_fails_before_the_packets_are_read() {
    let (input, mut packets) = pipe().expect("a pipe");
    packets.write_all(&pcap(&[1])).expect("it reads");
    let mut command = command("report - -o /nonexistent/page.html");
    command.stdin(input).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    // The pipe stays open.
    let ended = begin(command).finish();
    let line = ended.refusal(1);
    assert!(line.contains("create its directory first"), "{line}");
    drop(packets);
}
