use std::fmt;

use super::{Cause, Subject};
use crate::codec::Refusal;
use crate::object::Verb;
use crate::table::Lookup;

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Opening a socket.
    Open,
    /// Listing.
    List,
    /// Asking about one object.
    Get,
    /// Adding an object.
    Add,
    /// Making an object, or putting it in the place of another.
    Replace,
    /// Changing an object.
    Set,
    /// Adding an object beside others of the same key.
    Append,
    /// Removing an object.
    Remove,
    /// Removing all objects that are alike.
    Flush,
    /// Following changes.
    Watch,
}

/// A request without success.
#[derive(Debug)]
#[non_exhaustive]
pub struct NetlinkError {
    /// What was being done.
    pub action: Action,
    /// To what.
    pub subject: Subject,
    /// What stood in the way.
    pub cause: Cause,
    /// What the link is called that the subject is, or is on; where somebody has looked it up.
    pub link: Option<Box<str>>,
}

impl NetlinkError {
    /// For `map_err`: what was being done to `subject`, around a cause.
    pub(crate) fn about(action: Action, subject: Subject) -> impl FnOnce(Cause) -> Self {
        move |cause| Self::new(action, subject, cause)
    }

    pub(crate) fn new(action: Action, subject: Subject, cause: Cause) -> Self {
        Self {
            action,
            subject,
            cause,
            link: None,
        }
    }

    /// Looks up the name of its link, which people know better than the index.
    pub fn name_link(&mut self, lookup: &mut dyn Lookup) {
        let name = self.subject.link().and_then(|index| lookup.name(index));
        self.link = name.map(Into::into);
    }

    /// Whether it says that there is no such object.
    pub fn is_absence(&self) -> bool {
        use rustix::io::Errno;
        let errno = self.errno().map(Errno::from_raw_os_error);
        matches!(self.cause, Cause::Absent)
            || matches!(
                errno,
                Some(Errno::NODEV | Errno::NOENT | Errno::SRCH | Errno::ADDRNOTAVAIL)
            )
    }

    /// The error number, where the operating system gave one.
    pub fn errno(&self) -> Option<i32> {
        match &self.cause {
            Cause::Refused(Refusal { source, .. }) | Cause::System { source, .. } => {
                source.raw_os_error()
            }
            Cause::Namespace(error) => error.source.raw_os_error(),
            Cause::Malformed(_) | Cause::Unanswered | Cause::Absent | Cause::Unfit(_) => None,
        }
    }
}

impl From<Verb> for Action {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Add => Self::Add,
            Verb::Replace => Self::Replace,
            Verb::Set => Self::Set,
            Verb::Append => Self::Append,
            Verb::Del => Self::Remove,
            Verb::Get => Self::Get,
            Verb::List => Self::List,
        }
    }
}

impl fmt::Display for NetlinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            action,
            subject,
            cause,
            link,
        } = self;
        write!(f, "cannot {action} {}", subject.of_link(link.as_deref()))?;
        if let Cause::Refused(Refusal { text, path, .. }) = cause {
            match (path, text) {
                (Some(path), Some(text)) => write!(f, " ({path}: {text})")?,
                (Some(only), None) | (None, Some(only)) => write!(f, " ({only})")?,
                (None, None) => {}
            }
        }
        if matches!(cause, Cause::Absent) {
            f.write_str(" (there is none)")?;
        }
        let changes = !matches!(
            action,
            Action::Get | Action::List | Action::Open | Action::Watch
        );
        if changes && self.errno() == Some(rustix::io::Errno::PERM.raw_os_error()) {
            f.write_str(" (needs CAP_NET_ADMIN)")?;
        }
        Ok(())
    }
}

impl std::error::Error for NetlinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Refused(Refusal { source, .. }) | Cause::System { source, .. } => Some(source),
            Cause::Malformed(malformed) => Some(malformed),
            Cause::Namespace(error) => Some(error),
            Cause::Unfit(unfit) => Some(unfit),
            Cause::Unanswered | Cause::Absent => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::List => "list",
            Self::Get => "get",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Set => "set",
            Self::Append => "append",
            Self::Remove => "remove",
            Self::Flush => "flush",
            Self::Watch => "watch",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use super::*;
    use crate::interface::IfIndex;

    #[test]
    fn a_refusal_for_want_of_privilege_says_what_is_needed() {
        let refused = |action| {
            let source = io::Error::from(rustix::io::Errno::PERM);
            let refusal = Refusal {
                source,
                text: None,
                offset: None,
                missing: None,
                missing_in: None,
                path: None,
            };
            NetlinkError::about(action, Subject::Link(IfIndex(3)))(Cause::Refused(refusal))
        };
        assert_eq!(
            refused(Action::Set).to_string(),
            "cannot set link 3 (needs CAP_NET_ADMIN)"
        );
        assert_eq!(refused(Action::Get).to_string(), "cannot get link 3");
        let source = refused(Action::Set).source().map(ToString::to_string);
        assert_eq!(
            source.as_deref(),
            Some("Operation not permitted (os error 1)")
        );
    }
}
