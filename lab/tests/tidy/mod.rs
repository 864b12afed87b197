//! Checks the project's source rules.
//!
//! Each rule is a function over text that returns violations, with unit tests beside it. The tests here apply the rules
//! to the repository.

mod circles;
mod links;
mod manifest;
mod metadata;
mod rules;
mod source;
mod threats;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use source::Source;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("lab is in the repository")
        .into()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Collects every `.rs` file below `folder`, except build output and generated files.
fn collect(folder: &Path, found: &mut Vec<Source>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of the folder").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && !["target", "generated", "corpus"].contains(&name.as_str()) {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let shown = path
                .strip_prefix(root())
                .expect("below the root")
                .to_string_lossy();
            found.push(Source::new(&shown, &read(&path)));
        }
    }
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for folder in ["crates", "lab"] {
        collect(&root().join(folder), &mut found);
    }
    assert!(found.len() > 50, "the sources are found");
    found
});

/// The crates: the folders below `crates`.
fn rooms() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("the rooms");
    let names = entries.map(|entry| entry.expect("a room").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn assert_none(offences: impl IntoIterator<Item = String>) {
    let offences: Vec<_> = offences.into_iter().collect();
    assert!(offences.is_empty(), "\n{}", offences.join("\n"));
}

#[track_caller]
fn assert_all_keep(rule: fn(&Source) -> Vec<String>) {
    assert_none(SOURCES.iter().flat_map(rule));
}

#[test]
fn dependencies_point_down_only() {
    let rooms = rooms().into_iter();
    assert_none(rooms.flat_map(|room| {
        let text = read(&root().join("crates").join(&room).join("Cargo.toml"));
        manifest::upward(&room, &text)
    }));
}

#[test]
fn libraries_know_no_runtime_and_no_log() {
    let rooms = rooms().into_iter().filter(|room| room != "cli");
    assert_none(rooms.flat_map(|room| {
        let text = read(&root().join("crates").join(&room).join("Cargo.toml"));
        manifest::unwanted(&room, &text)
    }));
}

#[test]
fn unsafe_stays_in_its_rooms() {
    assert_all_keep(rules::unsafe_outside);
}

#[test]
fn the_other_rooms_forbid_unsafe() {
    assert_all_keep(rules::unforbidden);
}

#[test]
fn files_import_each_other_in_one_direction() {
    let crates = rooms().into_iter().map(|room| format!("crates/{room}"));
    assert_none(crates.chain(["lab".to_owned()]).flat_map(|folder| {
        let found = circles::circles(&folder, &SOURCES).into_iter();
        found.map(move |circle| format!("{folder}: {}", circle.join(", ")))
    }));
}

#[test]
fn the_program_and_the_libraries_for_c_depend_on_the_library_alone() {
    for user in ["cli", "c", "pcap"] {
        let text = read(&root().join("crates").join(user).join("Cargo.toml"));
        let below = manifest::shipped_rooms(&text).into_iter();
        assert_none(
            below
                .filter(|room| room != "tapline")
                .map(|room| format!("crates/{user}: depends on `{room}`")),
        );
    }
}

#[test]
fn libraries_neither_print_nor_exit() {
    assert_all_keep(rules::speaks);
}

#[test]
fn filter_probe_and_wire_do_no_input_or_output() {
    assert_all_keep(rules::reaches_out);
}

#[test]
fn nothing_is_unfinished_ignored_or_asleep() {
    assert_all_keep(rules::unfinished);
}

#[test]
fn modules_and_items_are_described() {
    assert_all_keep(rules::undescribed);
    assert_all_keep(rules::begins_with_pronoun);
}

#[test]
fn every_room_is_in_the_architecture() {
    let text = read(&root().join("ARCHITECTURE.md"));
    assert_none(rules::rooms_without_a_line(&text, &rooms()));
}

#[test]
fn files_that_the_architecture_names_exist() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let quoted = text.split('`').skip(1).step_by(2);
    let files: Vec<_> = quoted.filter(|words| words.contains("/src/")).collect();
    assert!(files.len() > 20, "the table of files is found");
    let crates = root().join("crates");
    let missing = files.iter().filter(|file| !crates.join(file).exists());
    assert_none(missing.map(|file| format!("ARCHITECTURE.md: there is no crates/{file}")));
}

/// The documents for readers: at the root, in `docs`, and those of the crates.
fn documents() -> Vec<links::Document> {
    let mut folders = vec![root(), root().join("docs"), root().join("docs/guide")];
    folders.extend(rooms().iter().map(|room| root().join("crates").join(room)));
    let entries = folders.iter().flat_map(|folder| {
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    });
    let files = entries.map(|entry| entry.expect("an entry of the folder").path());
    let pages = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let document = |file: PathBuf| links::Document {
        path: file.strip_prefix(root()).expect("below the root").into(),
        text: read(&file),
    };
    pages.map(document).collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    let documents = documents();
    assert!(documents.len() > 40, "{}", documents.len());
    assert_none(links::broken(&documents, |path| root().join(path).exists()));
}

#[test]
fn published_crates_have_complete_metadata() {
    let (published, kept): (Vec<_>, Vec<_>) = metadata::packages(&root())
        .into_iter()
        .partition(metadata::is_published);
    assert_eq!(published.len(), rooms().len(), "every room is published");
    let kept: Vec<_> = kept.iter().map(|package| &package["name"]).collect();
    assert_eq!(kept, ["tapline-lab"]);
    assert_none(published.iter().flat_map(metadata::incomplete));
}

#[test]
fn every_threat_names_a_test() {
    let known = threats::Known {
        rooms: &rooms(),
        sources: &SOURCES,
        makefile: &read(&root().join("Makefile")),
    };
    let file = "docs/threat-model.md";
    let found = threats::uncovered(&read(&root().join(file)), &known);
    assert_none(found.into_iter().map(|wrong| format!("{file}: {wrong}")));
}
