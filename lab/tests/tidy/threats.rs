//! The tests that THREAT_MODEL.md names.

use crate::tidy::source::Source;

/// Rooms with tests that a row may name.
fn named<'a>(text: &'a str, rooms: &[String]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|words| {
        let (room, test) = words.split_once(' ')?;
        (test.contains("::") && rooms.iter().any(|known| known == room)).then_some((room, test))
    })
}

/// Reports rows of the tables of threats without a test that exists.
pub fn uncovered(text: &str, rooms: &[String], sources: &[Source]) -> Vec<String> {
    let exists = |(room, test): (&str, &str)| {
        let (module, function) = test.rsplit_once("::").expect("a module");
        let first = module.split("::").next().expect("a module");
        let code = format!("fn {function}(");
        sources.iter().any(|source| {
            let rest = source.path.strip_prefix(&format!("crates/{room}/"));
            let in_module = |rest: &str| {
                rest.split(['/', '.'])
                    .any(|part| part == first || module.ends_with(&format!("::{part}")))
            };
            rest.is_some_and(in_module) && source.text.contains(&code)
        })
    };
    let (_, tables) = text
        .split_once("## Spoofing")
        .expect("the first kind of threat");
    let rows = tables
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| threat"));
    let mut found = Vec::new();
    for row in rows {
        let tests: Vec<_> = named(row, rooms).collect();
        if tests.is_empty() && !row.contains("`make ") {
            found.push(format!("no test: {row}"));
        }
        let missing = tests.into_iter().filter(|&test| !exists(test));
        found.extend(missing.map(|(room, test)| format!("there is no test {room} {test}")));
    }
    found
}

#[test]
fn a_row_without_a_test_or_with_an_unknown_one_is_reported() {
    let source = Source::new("crates/ring/tests/open.rs", "#[test] fn it_opens() {}");
    let rooms = ["ring".to_owned()];
    let report = |row: &str| {
        let text = format!("## Spoofing\n| threat | answer | tests |\n|---|---|---|\n{row}\n");
        uncovered(&text, &rooms, std::slice::from_ref(&source)).len()
    };
    assert_eq!(report("| a | b | `ring open::it_opens` |"), 0);
    assert_eq!(report("| a | b | `ring open::it_closes` |"), 1);
    assert_eq!(report("| a | b | `ring close::it_opens` |"), 1);
    assert_eq!(report("| a | b | `ring open` |"), 1);
    assert_eq!(report("| a | b | `make deny` |"), 0);
}
