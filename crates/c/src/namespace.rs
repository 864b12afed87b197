//! Network namespaces, as C names them.

use std::io::ErrorKind;

use tapline::Namespace;
use tapline::net::NamespaceError;

use crate::failure::Error;
use crate::status::tapline_status;

/// The namespace of a handle, noted when it was opened: threads may move to another one afterwards.
#[derive(Clone, Debug)]
pub enum HandleNamespace {
    /// This one.
    Known(Namespace),
    /// The namespace of the thread that opened the handle, if `/proc` does not say which one it is.
    Unknown,
}

impl HandleNamespace {
    /// The namespace of the calling thread.
    pub fn current() -> Self {
        Namespace::current().map_or(Self::Unknown, Self::Known)
    }

    /// The namespace to be entered for what belongs to the handle; `None` if the calling thread is in it.
    ///
    /// # Errors
    /// SYSTEM if it is not known.
    pub fn to_enter(&self) -> Result<Option<&Namespace>, Error> {
        let Self::Known(namespace) = self else {
            let text = "the network namespace of the handle is not known";
            return Err(Error::new(tapline_status::System, text).hint("mount /proc"));
        };
        let is_here = Namespace::current().and_then(|here| Ok(here.id()? == namespace.id()?));
        let is_here = is_here.map_err(|error| Error::system(&error))?;
        Ok((!is_here).then_some(namespace))
    }
}

/// The namespace with this name below /run/netns, or at this path.
///
/// # Errors
/// No such namespace, a privilege is missing, or `name` cannot be one.
pub fn named_or_at(name: &str) -> Result<Namespace, Error> {
    if name.contains('/') {
        return Namespace::open(name).map_err(|error| of_system(&error));
    }
    Namespace::named(name).map_err(|error| match error.source.kind() {
        ErrorKind::InvalidInput => {
            Error::argument(format!("{name:?} is not the name of a network namespace"))
        }
        _ => of_system(&error),
    })
}

/// Runs `job` in the namespace that C names, or on the calling thread without a name.
///
/// # Errors
/// As [`named_or_at`], and those of `job`.
pub fn run_in<T: Send>(
    name: Option<&str>,
    job: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    match name {
        None => job(),
        Some(name) => {
            let done = named_or_at(name)?.run(job);
            done.map_err(|error| of_system(&error))?
        }
    }
}

fn of_system(error: &NamespaceError) -> Error {
    let failed = Error::system(error);
    match failed.status {
        tapline_status::Privilege => failed.hint("requires CAP_SYS_ADMIN, to enter the namespace"),
        tapline_status::NotFound => failed.hint("'ip netns' lists the namespaces"),
        _ => failed,
    }
}
