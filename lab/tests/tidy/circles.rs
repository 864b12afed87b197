//! Finds import cycles between the files of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// A module path from the crate's root; empty for the root itself.
type Module = Vec<String>;

/// What a path resolves to: a file, and the names below it.
type Target = (Module, Vec<String>);

/// An import or a re-export in a file.
struct Use {
    path: Vec<String>,
    is_public: bool,
}

/// Finds import cycles among `sources`, the files of the crate in `folder`. Ignores tests. A re-exported name resolves
/// to the file that defines it.
pub fn circles(folder: &str, sources: &[Source]) -> Vec<Vec<String>> {
    let files: BTreeMap<Module, Vec<Use>> = sources
        .iter()
        .filter_map(|source| Some((module(folder, &source.path)?, uses(source))))
        .collect();
    let mut exports: BTreeMap<&Module, BTreeMap<String, Target>> = BTreeMap::new();
    for (file, uses) in &files {
        for export in uses.iter().filter(|import| import.is_public) {
            if let Some(target) = resolve(&files, file, &export.path) {
                let name = target.1.last().or(target.0.last()).cloned();
                let of_file = exports.entry(file).or_default();
                of_file.insert(name.unwrap_or_default(), target);
            }
        }
    }
    let imports = files.iter().map(|(file, uses)| {
        let imports = uses.iter().filter(|import| !import.is_public);
        let targets = imports.filter_map(|import| resolve(&files, file, &import.path));
        let found: BTreeSet<_> = targets
            .map(|target| origin(&exports, target))
            .filter(|target| target != file)
            .collect();
        (file, found)
    });
    let imports: BTreeMap<_, _> = imports.collect();
    let reach: BTreeMap<_, _> = files
        .keys()
        .map(|file| (file, reach(&imports, file)))
        .collect();
    let mut circles = BTreeSet::new();
    for (file, reached) in &reach {
        let back = |other: &&Module| reach.get(other).is_some_and(|from| from.contains(*file));
        let circle: Vec<_> = reached
            .iter()
            .filter(back)
            .map(|file| file.join("::"))
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// The files that `file` imports directly or indirectly.
fn reach(imports: &BTreeMap<&Module, BTreeSet<Module>>, file: &Module) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut next = vec![file];
    while let Some(file) = next.pop() {
        for import in imports.get(file).into_iter().flatten() {
            if found.insert(import.clone()) {
                next.push(import);
            }
        }
    }
    found
}

fn module(folder: &str, path: &str) -> Option<Module> {
    let path = path.strip_prefix(folder)?.strip_prefix("/src/")?;
    let mut names: Module = path
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    if names
        .last()
        .is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str()))
    {
        names.pop();
    }
    (!names.iter().any(|name| name == "tests")).then_some(names)
}

/// Resolves `path` in `file`. Returns `None` if it is outside the crate.
fn resolve(files: &BTreeMap<Module, Vec<Use>>, file: &Module, path: &[String]) -> Option<Target> {
    let mut names = path;
    let mut place = file.clone();
    match names.first()?.as_str() {
        "crate" => {
            place.clear();
            names = &names[1..];
        }
        "super" | "self" => {
            while let Some(first @ ("super" | "self")) = names.first().map(String::as_str) {
                if first == "super" {
                    place.pop();
                }
                names = &names[1..];
            }
        }
        name => {
            let child = [file.as_slice(), &[name.to_owned()]].concat();
            files.get(&child)?;
        }
    }
    while let Some((first, rest)) = names.split_first() {
        place.push(first.clone());
        if !files.contains_key(&place) {
            place.pop();
            break;
        }
        names = rest;
    }
    Some((place, names.to_vec()))
}

/// The file that defines the item of `target`, after following re-exports.
fn origin(exports: &BTreeMap<&Module, BTreeMap<String, Target>>, mut target: Target) -> Module {
    const MOST_EXPORTS: usize = 6;
    for _ in 0..MOST_EXPORTS {
        let exported = exports.get(&target.0).zip(target.1.first());
        match exported.and_then(|(names, name)| names.get(name)) {
            Some(next) => target = next.clone(),
            None => break,
        }
    }
    target.0
}

/// The `use` items of a file before its tests.
fn uses(source: &Source) -> Vec<Use> {
    let tokens: Vec<&str> = source
        .tokens
        .iter()
        .map(|(_, token)| token.as_str())
        .collect();
    let tests = ["#", "[", "cfg", "(", "test", ")", "]", "mod", "tests", "{"];
    let end = tokens
        .windows(tests.len())
        .position(|window| window == tests);
    let tokens = &tokens[..end.unwrap_or(tokens.len())];
    let mut found = Vec::new();
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| **token == "use")
    {
        let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
        let mut rest = tokens[at + 1..].iter().copied();
        let mut paths = Vec::new();
        expand(&mut rest, &[], &mut paths);
        found.extend(paths.into_iter().map(|path| Use { path, is_public }));
    }
    found
}

/// Expands one list of use trees, up to its end, into `paths`.
fn expand<'t>(
    tokens: &mut impl Iterator<Item = &'t str>,
    prefix: &[String],
    paths: &mut Vec<Vec<String>>,
) {
    let mut path = prefix.to_vec();
    let mut is_renamed = false;
    while let Some(token) = tokens.next() {
        match token {
            "{" => {
                expand(tokens, &path, paths);
                path.clear();
            }
            "," | "}" | ";" => {
                if path.len() > prefix.len() {
                    paths.push(std::mem::replace(&mut path, prefix.to_vec()));
                }
                path = prefix.to_vec();
                is_renamed = false;
                if token != "," {
                    return;
                }
            }
            "as" => is_renamed = true,
            ":" => {}
            name if !is_renamed => path.push(name.to_owned()),
            _ => {}
        }
    }
}

#[test]
fn a_circle_is_found() {
    let found = |files: &[(&str, &str)]| {
        let sources: Vec<_> = files
            .iter()
            .map(|(name, text)| Source::new(&format!("crates/x/src/{name}.rs"), text))
            .collect();
        circles("crates/x", &sources)
    };
    let lib = ("lib", "mod a; mod b; pub use a::A;");
    let direct = [
        lib,
        ("a", "use crate::b::{self as c, B};"),
        ("b", "use crate::a::A;"),
    ];
    assert_eq!(found(&direct), [["a", "b"]]);
    // Through a re-export.
    let exported = [
        lib,
        ("a", "use super::b::B;"),
        ("b", "use crate::{x::{Y, Z}, A};"),
    ];
    assert_eq!(found(&exported), [["a", "b"]]);
    let child = [lib, ("b/mod", "mod c; use c::C;"), ("b/c", "use super::D;")];
    assert_eq!(found(&child), [["b", "b::c"]]);
    let far = [
        lib,
        ("a", "use crate::b;"),
        ("b", "use crate::c::C;"),
        ("c", "use crate::a::A;"),
    ];
    assert_eq!(found(&far), [["a", "b", "c"]]);
    let one_way = [
        lib,
        ("a", "use crate::b::B;"),
        ("b", "use std::a::A; fn f() { a::b() }"),
    ];
    assert!(found(&one_way).is_empty());
    let in_tests = [
        lib,
        ("a", "use crate::b::B;"),
        ("b", "#[cfg(test)] mod tests { use crate::a::A; }"),
    ];
    assert!(found(&in_tests).is_empty());
}
