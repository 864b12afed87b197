//! The list of targets from arguments and file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;

use tapline::ping::SystemResolver;
use tapline::ping::targets::{
    AddressFamilies, Cidr, Resolver, TargetError, TargetErrorKind, Targets, TargetsBuilder,
    host_name,
};

use crate::args::PingArgs;
use crate::failure::{Exit, Failure, chain};
use crate::output::is_stdout;

/// Maximum size of a list: room for 16 million addresses.
const MOST_BYTES: u64 = 256 << 20;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The targets of a run.
pub struct TargetList {
    pub targets: Targets,
    /// Warnings about targets that were skipped, such as unknown names.
    pub skipped: Vec<String>,
    /// Warnings about names that have no address yet.
    pub waiting: Vec<String>,
}

/// The addresses of names that were resolved before.
pub type KnownNames = HashMap<String, IpAddr>;

/// Looks up the names that are not known.
struct ListResolver<'a> {
    known: &'a KnownNames,
    others: SystemResolver<'a>,
}

impl Resolver for ListResolver<'_> {
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>> {
        match self.known.get(name) {
            Some(address) => Ok(vec![*address]),
            None => self.others.addresses(name),
        }
    }

    fn interface(&mut self, name: &str) -> io::Result<u32> {
        self.others.interface(name)
    }
}

impl TargetList {
    /// Reads arguments and file. Names that are `known` are not looked up.
    pub fn read(args: &PingArgs, known: &KnownNames) -> Result<Self, Failure> {
        let family = match (args.ipv4, args.ipv6) {
            (true, _) => AddressFamilies::V4,
            (_, true) => AddressFamilies::V6,
            _ => AddressFamilies::Any,
        };
        let mut builder = TargetsBuilder::new(family);
        if args.resolve_every.is_some() {
            builder = builder.follow_names();
        }
        for prefix in &args.exclude {
            builder.exclude(*prefix);
        }
        for path in &args.exclude_file {
            for prefix in excluded(path)? {
                builder.exclude(prefix);
            }
        }
        let text = args
            .file
            .as_deref()
            .map(|path| text(path, "targets"))
            .transpose()?;
        let words = || words(args, text.as_deref());
        // Syntax errors are reported before any lookup.
        let mut names = Vec::new();
        for (word, line) in words() {
            let name = host_name(word);
            names.extend(name.map_err(|mut error| {
                error.line = line;
                wrong(args, &error)
            })?);
        }
        names.retain(|name| !known.contains_key(*name));
        let others = SystemResolver::prefetch(names);
        let mut names = ListResolver { known, others };
        let (mut skipped, mut waiting) = (Vec::new(), Vec::new());
        for (word, line) in words() {
            let Err(mut error) = builder.add(this_host(word), &mut names) else {
                continue;
            };
            error.line = line;
            if !can_be_skipped(&error) {
                return Err(wrong(args, &error));
            }
            if let Some(every) = args.resolve_every.filter(|_| can_be_resolved(&error)) {
                builder.add_unresolved(word);
                let line = warning(args, &error);
                waiting.push(format!("{line}; it is looked up again every {every:?}"));
                continue;
            }
            skipped.push(warning(args, &error));
        }
        let targets = builder.build().map_err(|error| wrong(args, &error))?;
        Ok(Self {
            targets: targets.with_paths(args.paths.unwrap_or(0)),
            skipped,
            waiting,
        })
    }

    /// Some target must be left.
    pub fn require_targets(&self) -> Result<(), Failure> {
        if !self.targets.is_empty() {
            return Ok(());
        }
        let failure = match self.skipped.as_slice() {
            [] if self.targets.excluded() > 0 => Failure::new(
                Exit::Usage,
                "every target is excluded by --exclude or --exclude-file",
            ),
            [] => Failure::new(Exit::Usage, "the list has no targets"),
            [only] => Failure::new(Exit::Usage, only.as_str()),
            [first, others @ ..] => Failure {
                below: others.join("\n"),
                ..Failure::new(Exit::Usage, first.as_str())
            },
        };
        Err(failure)
    }

    /// The names of the list that have addresses.
    pub fn names(&self) -> KnownNames {
        let targets = &self.targets;
        let named = targets.indices().filter_map(|target| {
            let name = targets.name(target)?.to_owned();
            Some((name, targets.address(target)?))
        });
        named.collect()
    }
}

/// The words of the command line and of the file, the latter with line numbers. `#` starts a comment.
fn words<'a>(
    args: &'a PingArgs,
    text: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, Option<usize>)> {
    let of_line = |(line, text): (usize, &'a str)| {
        let words = text.split('#').next().unwrap_or_default();
        words.split_whitespace().map(move |word| (word, Some(line)))
    };
    let of_file = (1..)
        .zip(text.unwrap_or_default().lines())
        .flat_map(of_line);
    let arguments = args.targets.iter().map(|word| (word.as_str(), None));
    arguments.chain(of_file)
}

/// The unspecified address stands for this host, as in ping.
///
/// # Source
/// RFC 1122, 3.2.1.3 (a); `__ip4_datagram_connect`, net/ipv4/datagram.c.
fn this_host(word: &str) -> &str {
    match word {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        word => word,
    }
}

/// The warning about a skipped target.
fn warning(args: &PingArgs, error: &TargetError) -> String {
    let (asked, other) = if args.ipv6 {
        ("IPv6", "IPv4")
    } else {
        ("IPv4", "IPv6")
    };
    let target = &error.target;
    let line = match error.kind {
        TargetErrorKind::WrongFamily => {
            format!(
                "{target} is an {other} address, and -{} selects {asked}",
                &asked[3..]
            )
        }
        TargetErrorKind::NoAddress if args.ipv4 || args.ipv6 => {
            format!("{target} has no {asked} address")
        }
        _ => return in_file(args, error),
    };
    match error.line {
        Some(number) => format!("{}line {number}: {line}", file(args)),
        None => line,
    }
}

/// The error with the name of the file.
fn in_file(args: &PingArgs, error: &TargetError) -> String {
    match error.line {
        Some(_) => format!("{}{}", file(args), chain(error)),
        None => chain(error),
    }
}

/// The name of the file as a prefix.
fn file(args: &PingArgs) -> String {
    let path = args.file.as_ref();
    path.map_or_else(String::new, |path| format!("{}: ", path.display()))
}

/// Whether the other targets can be pinged anyway.
fn can_be_skipped(error: &TargetError) -> bool {
    matches!(
        error.kind,
        TargetErrorKind::Unresolved { .. }
            | TargetErrorKind::NoAddress
            | TargetErrorKind::WrongFamily
            | TargetErrorKind::Zone { .. }
    )
}

/// Whether a later lookup may find an address.
fn can_be_resolved(error: &TargetError) -> bool {
    matches!(
        error.kind,
        TargetErrorKind::Unresolved { .. } | TargetErrorKind::NoAddress
    )
}

fn wrong(args: &PingArgs, error: &TargetError) -> Failure {
    let line = in_file(args, error);
    let advice = match error.kind {
        TargetErrorKind::Malformed => {
            "a target is like example.org, 192.0.2.1, 192.0.2.0/24 or 192.0.2.1-192.0.2.9"
        }
        TargetErrorKind::TooMany { .. } if error.target.contains(':') => {
            "a /104 has as many; most addresses of a wider IPv6 prefix have no host, so list those that do with -f"
        }
        TargetErrorKind::TooMany { .. } => "use a longer prefix",
        _ => return Failure::new(Exit::Usage, line),
    };
    Failure::new(Exit::Usage, format!("{line} ({advice})"))
}

/// The prefixes of a file of `--exclude-file`: one a line, with comments.
fn excluded(path: &Path) -> Result<Vec<Cidr>, Failure> {
    let text = text(path, "excluded prefixes")?;
    let words = (1..).zip(text.lines()).filter_map(|(number, line)| {
        let word = line.split('#').next().unwrap_or_default().trim();
        (!word.is_empty()).then_some((number, word))
    });
    let prefix = |(number, word): (usize, &str)| {
        word.parse().map_err(|_| {
            let line = format!(
                "{}: line {number}: {word} is not a prefix (such as 192.0.2.0/24)",
                path.display()
            );
            Failure::new(Exit::Usage, line)
        })
    };
    words.map(prefix).collect()
}

/// The text of a file of `what`.
fn text(path: &Path, what: &str) -> Result<String, Failure> {
    let read = |source: &mut dyn Read| {
        let mut bytes = Vec::new();
        source.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("the list is longer than 256 MiB"));
        }
        String::from_utf8(bytes).map_err(io::Error::other)
    };
    let text = if is_stdout(path) {
        read(&mut io::stdin().lock())
    } else {
        File::open(path).and_then(|mut file| read(&mut file))
    };
    let text = text.map_err(|error| {
        let source = if is_stdout(path) {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let what = format!("cannot read {what} from {source}");
        Failure::job_on(what, &error)
    })?;
    // Some editors write a byte order mark.
    Ok(match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
