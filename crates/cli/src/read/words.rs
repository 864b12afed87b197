//! Which words of the command line are files, and which are the filter.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::expression::Expression;
use super::input;
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure};
use crate::filter_file;

/// The words, told apart.
pub struct Words {
    pub files: Vec<PathBuf>,
    pub filter: Option<Expression>,
}

impl Words {
    /// The first word is a file, and those behind it as long as they name files; the first that
    /// names none begins the filter. Where `--` parts them there is nothing to find out.
    pub fn new(args: &ReadArgs) -> Result<Self, Failure> {
        if let Some(path) = &args.filter_file {
            return Ok(Self {
                files: args.words.iter().map(PathBuf::from).collect(),
                filter: Some(Expression::new(filter_file::expression(path)?, None)),
            });
        }
        let (files, filter) = if args.filter.is_empty() {
            let is_file = |word: &&OsString| is_file(Path::new(word));
            let others = args.words.get(1..).unwrap_or_default();
            let files = 1 + others.iter().take_while(is_file).count();
            args.words.split_at(files.min(args.words.len()))
        } else {
            (args.words.as_slice(), args.filter.as_slice())
        };
        let is_guessed = args.filter.is_empty();
        let filter = (!filter.is_empty()).then(|| expression(filter, is_guessed));
        Ok(Self {
            files: files.iter().map(PathBuf::from).collect(),
            filter: filter.transpose()?,
        })
    }
}

fn expression(words: &[OsString], is_guessed: bool) -> Result<Expression, Failure> {
    let text = words.iter().map(|word| word.to_str());
    let Some(text) = text.collect::<Option<Vec<_>>>() else {
        return Err(Failure::new(Exit::Usage, "the filter is not UTF-8"));
    };
    let file_meant = if is_guessed { file_meant(&text) } else { None };
    Ok(Expression::new(text.join(" "), file_meant))
}

/// The word that may be a misspelt file: the first. An expression in quotes is no file.
fn file_meant(words: &[&str]) -> Option<(String, bool)> {
    let (first, others) = words.split_first()?;
    let has_files = others.iter().any(|word| is_file(Path::new(word)));
    (!first.is_empty() && !first.contains(char::is_whitespace))
        .then(|| ((*first).to_owned(), has_files))
}

/// Whether there is something to read by this name, or it is a path that no filter begins with. A
/// folder is none: `src` and `net` are words of filters.
fn is_file(path: &Path) -> bool {
    let is_path = ["/", "./", "../"].iter().any(|begin| {
        path.as_os_str()
            .as_encoded_bytes()
            .starts_with(begin.as_bytes())
    });
    is_path || input::is_stdin(path) || path.metadata().is_ok_and(|found| !found.is_dir())
}
