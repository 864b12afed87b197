//! A network namespace: its netlink socket and the names of its numbers.

use tapline::Namespace;
use tapline::filter::similar_word;
use tapline::net::schema::{Arguments, InvalidValue, Parsed};
use tapline::net::{Netlink, NetlinkError};

use super::names::Names;
use crate::failure::{self, Exit, Failure};

/// What a word should be that is neither a process id nor a namespace name.
pub const NAMESPACE_WORD: &str = "a process or the name of a namespace";

/// What `link add` lacks without a type.
pub const TYPE_REQUIRED: &str = "type is required";

/// The error of a word that has no meaning where it stands.
pub fn unknown_word(word: &str) -> InvalidValue {
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    let expected = if is_number && word.contains(['.', ':', '/']) {
        "a valid address or prefix"
    } else {
        "a known word"
    };
    InvalidValue::new(expected, Some(word))
}

/// The namespace that a command works in.
#[derive(Debug)]
pub struct NetHandle {
    pub netlink: Netlink,
    pub names: Names,
}

impl NetHandle {
    /// Opens the namespace called `name`, or the namespace of this process.
    pub fn open(name: Option<&str>) -> Result<Self, Failure> {
        let namespace = open_namespace(name)?;
        let open = || match &namespace {
            Some(namespace) => Netlink::open_in(namespace),
            None => Netlink::open(),
        };
        Ok(Self {
            netlink: open()?,
            names: Names::new(open()?),
        })
    }

    /// Parses words about `object`.
    pub fn parse<T>(
        &mut self,
        object: &str,
        words: &[String],
        parse: impl Fn(&mut Arguments<'_>) -> Parsed<T>,
    ) -> Result<T, Failure> {
        let parsed = parse(&mut Arguments::new(words, &mut self.names));
        parsed.map_err(|bad| {
            let mut again = Arguments::recording(words, &mut self.names);
            _ = parse(&mut again);
            let offered = again.into_offered();
            self.parse_failure(object, &bad, &offered)
        })
    }

    /// Why words about `object` could not be parsed. A name that does not exist is a failure, not wrong usage. `offered` are
    /// the keywords that are possible instead.
    pub fn parse_failure(&self, object: &str, bad: &InvalidValue, offered: &[&str]) -> Failure {
        let found = bad.found.as_deref();
        let meant = found.and_then(|word| similar_word(word, offered.iter().copied()));
        let meant = did_you_mean(meant);
        if let Some(name) = found.filter(|name| self.names.is_absent(name)) {
            let advice = failure::NO_LINK;
            let line = format!("{object}: there is no link {name}{meant} ({advice})");
            return Failure::new(Exit::Failed, line);
        }
        if let Some(name) = found.filter(|_| bad.expected == NAMESPACE_WORD) {
            let there = failure::named_namespaces();
            let line = format!("{object}: there is no network namespace {name} ({there})");
            return Failure::new(Exit::Failed, line);
        }
        let bad = match bad.expected.as_str() {
            TYPE_REQUIRED => TYPE_REQUIRED.to_owned(),
            _ => bad.to_string(),
        };
        usage_failure(object, &(bad + &meant))
    }

    /// An error of the kernel, with the name of the link that it is about instead of the index.
    pub fn failure(&mut self, mut error: NetlinkError) -> Failure {
        error.name_link(&mut self.names);
        error.into()
    }
}

/// The namespace called `name`.
pub fn open_namespace(name: Option<&str>) -> Result<Option<Namespace>, Failure> {
    let open = |name| Namespace::named(name).map_err(Failure::from);
    name.map(open).transpose()
}

/// The suggestion at the end of an error.
pub fn did_you_mean(word: Option<&str>) -> String {
    word.map_or_else(String::new, |word| format!("; did you mean '{word}'?"))
}

/// Wrong usage of the command `object`.
pub fn usage_failure(object: &str, problem: &str) -> Failure {
    let line = format!("{object}: {problem} (see 'tapline {object} --help')");
    Failure::new(Exit::Usage, line)
}
