//! The example service: the objects in its database and the changes of other programs, compared with ip(8).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lab::Host;

use crate::support::{CHECKERS, Checked, Checker, run, succeed};

/// Makes a change of the database, as another program.
fn change(database: &Path, statement: &str) {
    let script =
        "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as base: base.execute(sys.argv[2])";
    let mut command = Command::new("python3");
    succeed(command.args(["-c", script]).arg(database).arg(statement));
}

/// The interface as `ip -json` shows it; empty if there is none.
fn shown(host: &Host, name: &str) -> String {
    let mut command = host.command("ip");
    let output = command.args(["-json", "address", "show", name]).output();
    String::from_utf8(output.expect("ip runs").stdout).expect("text")
}

fn start(service: &Checked, host: &Host, database: &Path) -> Command {
    let mut command = service.command(host);
    command.arg(database);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// The database, with this row.
fn create(database: &Path, row: &str) {
    change(
        database,
        "CREATE TABLE interfaces(name TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL, mtu INTEGER, address TEXT)",
    );
    change(database, &format!("INSERT INTO interfaces VALUES ({row})"));
}

#[test]
fn the_kernel_follows_the_database_and_is_restored_in_one_loop() {
    for checker in CHECKERS {
        let service = checker.program("examples/service/main.cpp", &["-lsqlite3"]);
        let host = Host::new("alone");
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("interfaces.db");
        create(&database, "'s0', 'bridge', 1400, '192.0.2.1/24'");

        let mut running = run(start(&service, &host, &database));
        assert_eq!(running.line(), "changes: 2");
        let s0 = shown(&host, "s0");
        for part in [r#""mtu":1400"#, r#""local":"192.0.2.1""#, r#""UP""#] {
            assert!(s0.contains(part), "{s0}");
        }

        change(
            &database,
            "INSERT INTO interfaces VALUES ('s1', 'bridge', 1300, '')",
        );
        assert_eq!(running.line(), "changes: 1");
        assert!(shown(&host, "s1").contains(r#""mtu":1300"#));

        host.ip("link set s0 mtu 900");
        assert_eq!(running.line(), "changes: 1");
        assert!(shown(&host, "s0").contains(r#""mtu":1400"#));
        host.ip("address del 192.0.2.1/24 dev s0");
        assert_eq!(running.line(), "changes: 1");
        assert!(shown(&host, "s0").contains(r#""local":"192.0.2.1""#));
        host.ip("link del s1");
        assert_eq!(running.line(), "changes: 1");
        assert!(shown(&host, "s1").contains(r#""mtu":1300"#));

        change(&database, "DELETE FROM interfaces WHERE name = 's0'");
        assert_eq!(running.line(), "changes: 1");
        assert_eq!(shown(&host, "s0"), "");
        assert!(shown(&host, "s1").contains(r#""mtu":1300"#));

        // One thread waits for all of it.
        let threads = fs::read_dir(format!("/proc/{}/task", running.id())).expect("it runs");
        assert_eq!(threads.count(), 1);
        running.end_input();
        assert!(running.finish().is_empty());

        // What changes while it is away, it finds when it starts again: also what it may delete.
        change(
            &database,
            "UPDATE interfaces SET address = '192.0.2.9/24' WHERE name = 's1'",
        );
        let mut second = run(start(&service, &host, &database));
        assert_eq!(second.line(), "changes: 1");
        second.end_input();
        assert!(second.finish().is_empty());
        // Further starts use memory as these: valgrind takes seconds for each.
        if checker == Checker::Valgrind {
            continue;
        }
        change(
            &database,
            "UPDATE interfaces SET address = '192.0.2.1/24' WHERE name = 's1'",
        );
        let mut third = run(start(&service, &host, &database));
        assert_eq!(third.line(), "changes: 2");
        let s1 = shown(&host, "s1");
        assert!(s1.contains(r#""local":"192.0.2.1""#) && !s1.contains("192.0.2.9"));
        third.end_input();
        assert!(third.finish().is_empty());
        change(&database, "DELETE FROM interfaces");
        let mut last = run(start(&service, &host, &database));
        assert_eq!(last.line(), "changes: 1");
        assert_eq!(shown(&host, "s1"), "");
        last.end_input();
        assert!(last.finish().is_empty());
    }
}

/// Number of changes of a database so far: the file change counter in its header.
fn commits(database: &Path) -> u32 {
    let bytes = fs::read(database).expect("a database");
    u32::from_be_bytes(bytes[24..28].try_into().expect("four bytes"))
}

#[test]
fn a_link_that_the_kernel_refuses_is_not_tried_for_ever() {
    let service = CHECKERS[0].program("examples/service/main.cpp", &["-lsqlite3"]);
    let host = Host::new("alone");
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("interfaces.db");
    create(&database, "'s0', 'nonsense', NULL, ''");
    let before = commits(&database);
    let mut running = run(start(&service, &host, &database));
    let refusal = running.line();
    assert!(refusal.starts_with("failed: "), "{refusal}");
    // Events of the kernel are no reason to try it again.
    host.ip("link set lo mtu 9000");
    change(
        &database,
        "INSERT INTO interfaces VALUES ('s1', 'bridge', NULL, '')",
    );
    assert_eq!(running.line(), "changes: 1");
    assert!(shown(&host, "s1").contains(r#""mtu":1500"#));
    // Another row may have been the reason.
    assert_eq!(running.line(), refusal);
    running.end_input();
    assert_eq!(running.finish(), [""; 0]);
    // One here and one for the table; two for each attempt, and two for the new link.
    assert_eq!(commits(&database) - before, 2 + 2 * 2 + 2);
}
