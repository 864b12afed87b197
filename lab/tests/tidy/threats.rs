//! The tests that docs/threat-model.md names, as `crate module::test`, and their targets of the Makefile.

use crate::tidy::source::Source;

/// What a row may name.
pub struct Known<'k> {
    pub rooms: &'k [String],
    pub sources: &'k [Source],
    pub makefile: &'k str,
}

impl Known<'_> {
    /// Why there is no test `module::function` in the room; `None` if there is one.
    fn missing_test(&self, room: &str, test: &str) -> Option<String> {
        if !self.rooms.iter().any(|known| known == room) {
            return Some(format!("there is no room {room}, of {test}"));
        }
        let (module, function) = test.rsplit_once("::").expect("a module");
        let code = format!("fn {function}(");
        let prefix = format!("crates/{room}/");
        let is_there = self.sources.iter().any(|source| {
            let rest = source.path.strip_prefix(&prefix);
            rest.is_some_and(|rest| is_file_of(rest, module)) && is_test(&source.text, &code)
        });
        (!is_there).then(|| format!("there is no test {room} {test}"))
    }

    fn has_target(&self, target: &str) -> bool {
        let rule = format!("{target}:");
        self.makefile.lines().any(|line| line.starts_with(&rule))
    }
}

/// Whether `file`, below the folder of its crate, has the module: as a file, or in another module of it.
fn is_file_of(file: &str, module: &str) -> bool {
    let Some((_, file)) = file.split_once('/') else {
        return false;
    };
    let file = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let path = file.replace('/', "::");
    module == path
        || module
            .strip_prefix(&path)
            .is_some_and(|rest| rest.starts_with("::"))
}

/// Whether `text` has a function that begins with `code` below `#[test]`.
fn is_test(text: &str, code: &str) -> bool {
    let mut parts = text.split(code);
    let before = parts.next().unwrap_or_default();
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    parts.next().is_some() && attributes.contains("#[test]")
}

/// Reports rows of tables with a column `tests` that name no test, or one that does not exist.
pub fn uncovered(text: &str, known: &Known<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut rows = 0;
    let mut has_tests = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            has_tests = false;
        } else if line.ends_with("| tests |") {
            has_tests = true;
        } else if has_tests && !line.starts_with("|---") {
            rows += 1;
            found.extend(wrong(line, known));
        }
    }
    if rows == 0 {
        found.push("no table has a column `tests`".into());
    }
    found
}

fn wrong(row: &str, known: &Known<'_>) -> Vec<String> {
    let last = row.trim_end_matches(" |").rsplit(" | ").next();
    let quoted = last.unwrap_or_default().split('`').skip(1).step_by(2);
    let mut found = Vec::new();
    let mut named = 0;
    for words in quoted {
        named += 1;
        match words.split_once(' ') {
            Some(("make", target)) if known.has_target(target) => {}
            Some((room, test)) if test.contains("::") => {
                found.extend(known.missing_test(room, test));
            }
            _ => found.push(format!("what is `{words}`?")),
        }
    }
    if named == 0 {
        found.push(format!("no test: {row}"));
    }
    found
}

#[test]
fn a_row_without_a_test_or_with_an_unknown_one_is_reported() {
    let sources = [
        Source::new(
            "crates/ring/tests/open.rs",
            "#[test]\nfn it_opens() {}\n\nfn helper() {}",
        ),
        Source::new(
            "crates/ring/src/walk/mod.rs",
            "mod tests { #[test]\nfn it_walks() {} }",
        ),
    ];
    let known = Known {
        rooms: &["ring".to_owned()],
        sources: &sources,
        makefile: "deny:\n\techo\n",
    };
    let report = |row: &str| {
        let text = format!("| threat | tests |\n|---|---|\n{row}\n\n| other |\n|---|\n| `x y` |\n");
        uncovered(&text, &known).len()
    };
    assert_eq!(report("| a | `ring open::it_opens` |"), 0);
    assert_eq!(
        report("| a | `ring walk::tests::it_walks`, `make deny` |"),
        0
    );
    assert_eq!(report("| a | `ring open::it_closes` |"), 1);
    assert_eq!(report("| a | `ring open::helper` |"), 1);
    assert_eq!(report("| a | `ring close::it_opens` |"), 1);
    assert_eq!(
        report("| a | `rink open::it_opens`, `ring open::it_opens` |"),
        1
    );
    assert_eq!(report("| a | `ring open` |"), 1);
    assert_eq!(report("| a | `make denial` |"), 1);
    assert_eq!(report("| `ring open::it_opens` | nothing |"), 1);
    assert_eq!(uncovered("| a | b |\n", &known).len(), 1);
}
