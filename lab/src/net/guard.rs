//! Refuses to work in the machine's own namespace.

use std::io::ErrorKind;
use std::path::Path;

use abi::namespace::{NamespaceError, NamespaceId, NetNamespace};

/// Panics if `namespace` is the machine's (that of process 1) or the test process's own.
///
/// # Panics
/// In these cases, and if the namespaces cannot be identified.
#[track_caller]
pub fn refuse_the_machine(namespace: &NetNamespace) {
    let id = namespace.id().expect("the namespace can be identified");
    let own = id_at("/proc/self/ns/net").expect("the process's own namespace can be identified");
    assert!(
        id != own,
        "lab does not act in the network namespace of the test process"
    );
    match id_at("/proc/1/ns/net") {
        Ok(machine) => assert!(
            id != machine,
            "lab does not act in the machine's own namespace"
        ),
        // A container may not be allowed to inspect process 1. The machine's namespace is then reachable only if this
        // process started in it, and the check above excludes that.
        Err(error) if error.source.kind() == ErrorKind::PermissionDenied => {}
        Err(error) => panic!("lab cannot tell which namespace is the machine's: {error}"),
    }
}

fn id_at(path: &str) -> Result<NamespaceId, NamespaceError> {
    NetNamespace::open(Path::new(path))?.id()
}
