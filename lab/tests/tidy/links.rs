//! Links between documents: to files and headings that exist.

use std::path::{Component, Path, PathBuf};

/// A document of the repository.
pub struct Document {
    /// Its path below the root of the repository.
    pub path: PathBuf,
    pub text: String,
}

/// Returns a complaint for each relative link whose file or heading is missing. `exists` tells whether there is a file or
/// folder below the root.
pub fn broken(documents: &[Document], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for document in documents {
        for link in links(&document.text) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = document.path.parent().unwrap_or(Path::new(""));
            let target = match file {
                "" => document.path.clone(),
                file => normal(&folder.join(file)),
            };
            let linked = documents.iter().find(|other| other.path == target);
            let has_heading = linked.is_some_and(|other| {
                let mut anchors = headings(&other.text).map(anchor);
                anchors.any(|anchor| anchor == heading)
            });
            if !exists(&target) || !(heading.is_empty() || has_heading) {
                found.push(format!("{}: {link} leads nowhere", document.path.display()));
            }
        }
    }
    found
}

/// The lines outside of fenced blocks.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

/// The targets of the links to files of the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = lines(text).flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|target| !target.contains("://"))
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter(|line| line.starts_with('#'))
}

/// The anchor that GitHub gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars();
    let kept = kept.filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    let kept: String = kept.collect();
    kept.to_lowercase().replace(' ', "-")
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn links_to_missing_files_and_headings_are_found() {
    let document = |path: &str, text: &str| Document {
        path: path.into(),
        text: text.into(),
    };
    let limits = document(
        "docs/limits.md",
        "# Limits\n\n## `any`: what is *not* there\n",
    );
    let complaints = |text: &str| {
        let page = document("docs/guide/read.md", text);
        let documents = [page, document(&limits.path.to_string_lossy(), &limits.text)];
        broken(&documents, |path| {
            documents.iter().any(|document| document.path == path)
        })
    };
    let good = "# Read\n[a](../limits.md) [b](../limits.md#any-what-is-not-there) [c](#read) [d](https://a/b)\n";
    assert_eq!(complaints(good), [""; 0]);
    assert_eq!(complaints("```\n[a](nothing.md)\n```\n"), [""; 0]);
    for bad in ["[a](limits.md)", "[a](../limits.md#some)", "[a](#write)"] {
        assert_eq!(complaints(bad).len(), 1, "{bad}");
    }
}
