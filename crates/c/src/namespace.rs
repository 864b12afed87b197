//! Network namespaces, as C names them.

use std::io::ErrorKind;

use tapline::Namespace;
use tapline::net::NamespaceError;

use crate::failure::Error;
use crate::status::tapline_status;

/// The namespace with this name below /run/netns.
///
/// # Errors
/// No such namespace, a privilege is missing, or `name` cannot be one.
pub fn named(name: &str) -> Result<Namespace, Error> {
    Namespace::named(name).map_err(|error| match error.source.kind() {
        ErrorKind::InvalidInput => {
            Error::argument(format!("{name:?} is not the name of a network namespace"))
        }
        _ => of_system(&error),
    })
}

fn of_system(error: &NamespaceError) -> Error {
    let failed = Error::system(error);
    match failed.status {
        tapline_status::Privilege => failed.hint("requires CAP_SYS_ADMIN, to enter the namespace"),
        tapline_status::NotFound => failed.hint("'ip netns' lists the namespaces"),
        _ => failed,
    }
}

/// The namespace with this name, or at this path.
///
/// # Errors
/// As [`named`].
pub fn named_or_at(name: &str) -> Result<Namespace, Error> {
    if name.contains('/') {
        Namespace::open(name).map_err(|error| of_system(&error))
    } else {
        named(name)
    }
}
