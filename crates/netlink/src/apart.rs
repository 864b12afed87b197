//! Objects that no message makes.

use abi::namespace::{NamespaceError, NetNamespace};

use crate::error::{Action, Cause, NetlinkError};
use crate::handle::Netlink;
use crate::object::{Object, Verb};

impl Netlink {
    /// Makes `object` in `namespace`, which is the handle's, sets the rest of it and returns it.
    pub(crate) fn make_apart<O: Object>(
        &mut self,
        object: &O,
        namespace: Result<NetNamespace, NamespaceError>,
    ) -> Result<O, NetlinkError> {
        let made = namespace
            .map_err(Cause::Namespace)
            .and_then(|namespace| make_in(&namespace, object));
        let made = made.map_err(|cause| Self::failed(Verb::Add, object, cause))?;
        let made = self.get(&made)?;
        let Some(rest) = object.beside(&made) else {
            return Ok(made);
        };
        if let Err(error) = self.set(&rest) {
            // Whether this succeeds or not, the refusal is what the caller has to hear of.
            let _ = self.del(&made);
            return Err(NetlinkError {
                action: Action::Add,
                subject: object.subject(),
                ..error
            });
        }
        // One that was sent to another namespace is not here to be asked for.
        Ok(self.get(&made).unwrap_or(made))
    }
}

fn make_in<O: Object>(namespace: &NetNamespace, object: &O) -> Result<O, Cause> {
    let here = NetNamespace::current().and_then(|here| here.id());
    let there = namespace.id();
    // To enter a namespace takes a privilege and a thread.
    if matches!((here, there), (Ok(here), Ok(there)) if here == there) {
        return object.make_apart();
    }
    let made = namespace.run(|| object.make_apart());
    made.map_err(Cause::Namespace)?
}
