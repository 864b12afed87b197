//! The files and the filter on the command line, and the job that they describe.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, fstat};
use tapline::filter::{
    CompiledFilter, FilterOptions, LinkType, NameResolver, NoNames, SystemNames, Transport,
};
use tapline::read::{PacketNumbers, ReadBuilder};
use tapline::{Expression, Filter};

use crate::args::ReadArgs;
use crate::failure::{Exit, Failure};
use crate::filter::{filter_file, warn};
use crate::object_storage::WhenFull;
use crate::output;

/// The words of the command line, separated into files and filter.
pub struct Arguments {
    pub files: Vec<PathBuf>,
    pub filter: Option<String>,
    /// The filter's first word, if that may be a misspelt file.
    pub guess: Option<FilterGuess>,
}

/// A word that names no file and therefore begins the filter.
pub struct FilterGuess {
    pub word: String,
    /// Whether words behind it name files.
    pub has_files: bool,
}

impl Arguments {
    /// The first word is a file, and so are the next ones that name files. The first that names none
    /// begins the filter. `--` separates them explicitly.
    pub fn new(args: &ReadArgs) -> Result<Self, Failure> {
        let arguments = Self::of(&args.words, &args.filter, args.filter_file.as_deref())?;
        refuse_overwrite(args, &arguments.files)?;
        Ok(arguments)
    }

    /// Of `words`, with a filter behind `--` or in a file.
    pub fn of(
        words: &[OsString],
        filter: &[OsString],
        filter_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let arguments = Self::separate(words, filter, filter_file)?;
        check(&arguments.files)?;
        if filter.is_empty() && filter_file.is_none() {
            refuse_filter_without_file(words)?;
        }
        Ok(arguments)
    }

    /// Of files, without a filter.
    pub fn of_files(files: Vec<PathBuf>) -> Result<Self, Failure> {
        check(&files)?;
        Ok(Self {
            files,
            filter: None,
            guess: None,
        })
    }

    fn separate(
        words: &[OsString],
        filter: &[OsString],
        filter_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let paths = |words: &[OsString]| words.iter().map(PathBuf::from).collect();
        if let Some(path) = filter_file {
            return Ok(Self {
                files: paths(words),
                filter: Some(filter_file::expression(path)?),
                guess: None,
            });
        }
        let is_guessed = filter.is_empty();
        let (files, filter) = if is_guessed {
            let is_file = |word: &&OsString| is_file(Path::new(word));
            let others = words.get(1..).unwrap_or_default();
            let files = 1 + others.iter().take_while(is_file).count();
            words.split_at(files.min(words.len()))
        } else {
            (words, filter)
        };
        let words: Option<Vec<_>> = filter.iter().map(|word| word.to_str()).collect();
        let Some(words) = words else {
            return Err(Failure::new(Exit::Usage, "the filter is not UTF-8"));
        };
        Ok(Self {
            files: paths(files),
            filter: (!words.is_empty()).then(|| words.join(" ")),
            guess: if is_guessed { guess(&words) } else { None },
        })
    }

    /// What happens to files for object storage that find the spool full: packets of a pipe do not wait, as a capture may write
    /// them, and cannot be read again.
    pub fn when_full(&self) -> WhenFull {
        if self.files.iter().any(|file| is_stream(file)) {
            WhenFull::GiveUp
        } else {
            WhenFull::Wait
        }
    }

    /// The job for these files, with the options in `args`.
    pub fn builder(&self, args: &ReadArgs) -> Result<ReadBuilder, Failure> {
        let mut builder = self.inputs()?.indexes(args.index);
        if let Some(path) = &args.bpf {
            let Ok(filtered) = builder.filter(Filter::from(filter_file::program(path)?));
            builder = filtered;
        }
        for name in &args.interface {
            builder = builder.interface(name);
        }
        if let Some(from) = args.from {
            builder = builder.from_ns(from.0);
        }
        if let Some(to) = args.to {
            builder = builder.to_ns(to.0);
        }
        if !args.packets.is_empty() {
            builder = builder.numbers(PacketNumbers::only(args.packets.iter().cloned()));
        } else if !args.except_packets.is_empty() {
            let numbers = PacketNumbers::all_but(args.except_packets.iter().cloned());
            builder = builder.numbers(numbers);
        }
        if let Some(packets) = args.count {
            builder = builder.count(packets);
        }
        Ok(builder.snaplen(args.snaplen.unwrap_or(0)))
    }

    /// A job with the files and the filter.
    pub fn inputs(&self) -> Result<ReadBuilder, Failure> {
        let mut builder = ReadBuilder::new();
        for path in &self.files {
            builder = if is_stdin(path) {
                let stdin = io::stdin().as_fd().try_clone_to_owned()?;
                builder.stream("standard input", stdin)
            } else {
                builder.file(path)
            };
        }
        if let Some(text) = &self.filter {
            let word = self.guess.as_ref().map(|guess| guess.word.clone());
            let names = GuardedNames {
                names: SystemNames::new(),
                word,
            };
            look_up(text, &names);
            let expression = Filter::from(Expression::new(text, Arc::new(names)));
            let Ok(filtered) = builder.filter(expression);
            let text = text.clone();
            builder = filtered.on_filter_warnings(move |warnings| warn(&text, warnings));
        }
        Ok(builder)
    }
}

fn check(files: &[PathBuf]) -> Result<(), Failure> {
    if files.iter().any(|path| path.as_os_str().is_empty()) {
        let line = "the name of a file is empty (use - for standard input)";
        return Err(Failure::new(Exit::Usage, line));
    }
    if files.iter().filter(|path| is_stdin(path)).count() > 1 {
        let line = "standard input can be read only once";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses words that are a filter as a whole and begin with no file.
fn refuse_filter_without_file(words: &[OsString]) -> Result<(), Failure> {
    let is_missing = |word: &&OsString| !is_file(Path::new(word));
    let text: Option<Vec<_>> = words.iter().map(|word| word.to_str()).collect();
    let (Some(_), Some(text)) = (words.first().filter(is_missing), text) else {
        return Ok(());
    };
    let text = text.join(" ");
    let options = FilterOptions::new(LinkType::Ethernet);
    if CompiledFilter::new(&text, &options, &NoNames).is_err() {
        return Ok(());
    }
    let line = format!(
        "no file before the filter: use tapline read FILE '{text}', or - for standard input"
    );
    Err(Failure::new(Exit::Usage, line))
}

/// The first word of a filter, unless it is an expression in quotes.
fn guess(words: &[&str]) -> Option<FilterGuess> {
    let (first, others) = words.split_first()?;
    let is_word = !first.is_empty() && !first.contains(char::is_whitespace);
    is_word.then(|| FilterGuess {
        word: (*first).to_owned(),
        has_files: others.iter().any(|word| is_file(Path::new(word))),
    })
}

/// Whether `path` exists, or is a path with which no filter begins. A folder is no file: `src` and `net`
/// are words of filters.
fn is_file(path: &Path) -> bool {
    let is_path = ["/", "./", "../"].iter().any(|start| {
        path.as_os_str()
            .as_encoded_bytes()
            .starts_with(start.as_bytes())
    });
    is_path || is_stdin(path) || path.metadata().is_ok_and(|found| !found.is_dir())
}

/// Looks up the names of a filter; `names` keeps them. The filter is compiled later, for the link types of the files, when the
/// sandbox allows no lookups.
fn look_up(text: &str, names: &dyn NameResolver) {
    let links = [LinkType::Ethernet, LinkType::Raw, LinkType::Wlan];
    // Errors in the filter are reported when it is compiled for a file.
    let compiles = |link| CompiledFilter::new(text, &FilterOptions::new(link), names).is_ok();
    let _ = links.into_iter().any(compiles);
}

/// The names of this machine, except for a word that may be a misspelt file name, which is not sent to a name
/// server. `host NAME` is explicit.
struct GuardedNames {
    names: SystemNames,
    word: Option<String>,
}

impl NameResolver for GuardedNames {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        if self.word.as_deref() == Some(name) {
            return Vec::new();
        }
        self.names.host(name)
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        self.names.network(name)
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        self.names.ethernet(name)
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        self.names.port(name, transport)
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        self.names.protocol(name)
    }
}

/// Refuses an output that is, or with rotation or `--split` may become, one of the input `files`.
fn refuse_overwrite(args: &ReadArgs, files: &[PathBuf]) -> Result<(), Failure> {
    let path = args.output.write.as_deref();
    let Some(path) = path.filter(|path| !output::is_stdout(path)) else {
        return Ok(());
    };
    let mut compressed = path.as_os_str().to_owned();
    compressed.push(".zst");
    let outputs = [file_id(path), file_id(Path::new(&compressed))];
    let numbers_files = output::rotation(&args.output).is_any() || args.edit.split.is_some();
    for file in files {
        let id = file_id(file);
        let is_output = id.is_some() && outputs.contains(&id);
        if is_output || numbers_files && has_numbered_name(file, path) {
            let line = format!(
                "cannot write to {}: it would overwrite the input {}",
                path.display(),
                file.display()
            );
            return Err(Failure::new(Exit::Usage, line));
        }
    }
    Ok(())
}

/// Device and inode of a regular file.
pub fn file_id(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    file.is_file().then(|| (file.dev(), file.ino()))
}

/// Whether `file` is a pipe or something else that cannot be read again.
fn is_stream(file: &Path) -> bool {
    let is_regular = if output::is_stdout(file) {
        fstat(io::stdin()).is_ok_and(|about| FileType::from_raw_mode(about.st_mode).is_file())
    } else {
        file.is_file()
    };
    !is_regular
}

/// Whether `file` is in the folder of `path` and has a name that a numbered output can get: `STEM_00001_…`.
fn has_numbered_name(file: &Path, path: &Path) -> bool {
    let folder = |path: &Path| {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()
    };
    let (Some(name), Some(output)) = (file.file_name(), path.file_name()) else {
        return false;
    };
    let (name, output) = (name.as_encoded_bytes(), output.as_encoded_bytes());
    let is_numbered = |stem: &[u8]| {
        let rest = name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix(b"_"));
        rest.is_some_and(|rest| {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits >= 5 && rest.get(digits) == Some(&b'_')
        })
    };
    // At which dot the suffix begins depends on the format and the compression.
    let mut ends = (1..=output.len()).filter(|&end| output.get(end).is_none_or(|&at| at == b'.'));
    ends.any(|end| is_numbered(&output[..end])) && folder(file) == folder(path)
}
