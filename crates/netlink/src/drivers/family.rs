//! Sockets for generic netlink families.

use rustix::net::netlink::GENERIC;

use crate::codec::{Attribute, Attributes, Malformed, Message, Request, attributes, split};
use crate::error::{Action, Cause, NetlinkError, RequestTarget};
use crate::socket::Socket;
use crate::uapi::{CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME, CTRL_CMD_GETFAMILY, GENL_ID_CTRL};

/// Length of `struct genlmsghdr`: command, version and two reserved bytes.
const HEADER_BYTES: usize = 4;
/// The version of the families used here and of the controller.
const VERSION: u8 = 1;

/// A socket for the messages of one generic netlink family.
#[derive(Debug)]
pub(super) struct Family {
    pub socket: Socket,
    id: u16,
}

impl Family {
    /// Opens a socket in the namespace of the calling thread and looks up the family `name`.
    pub fn open(name: &'static str) -> Result<Self, NetlinkError> {
        let mut socket = Socket::open(Some(GENERIC))
            .map_err(NetlinkError::about(Action::Open, RequestTarget::Socket))?;
        let mut request = message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, Request::new);
        request.text(CTRL_ATTR_FAMILY_NAME, name.as_bytes());
        let id = socket
            .query(&mut request, |message| {
                fold(body(message)?, None, |id, attribute| {
                    if attribute.kind == CTRL_ATTR_FAMILY_ID {
                        *id = Some(u16::from_ne_bytes(attribute.array()?));
                    }
                    Ok(())
                })
            })
            .map_err(NetlinkError::about(
                Action::Get,
                RequestTarget::Family(name),
            ))?;
        Ok(Self { socket, id })
    }

    /// A request of this family without attributes.
    pub fn request(&self, command: u8) -> Request {
        message(self.id, command, Request::new)
    }

    /// Like [`request`](Self::request), for a list.
    pub fn dump(&self, command: u8) -> Request {
        message(self.id, command, |kind, _, header| {
            Request::dump(kind, header)
        })
    }

    /// Requests one object, whose attributes `take` decodes.
    pub fn get<T: Default>(
        &mut self,
        mut request: Request,
        take: impl Fn(&mut T, Attribute<'_>) -> Result<(), Malformed>,
    ) -> Result<T, Cause> {
        let read = |message: Message<'_>| fold(body(message)?, T::default(), &take).map(Some);
        self.socket.query(&mut request, read)
    }
}

fn message(kind: u16, command: u8, make: impl FnOnce(u16, u16, &[u8]) -> Request) -> Request {
    make(kind, 0, &[command, VERSION, 0, 0])
}

/// The attributes of a generic netlink message.
pub(super) fn body(message: Message<'_>) -> Result<Attributes<'_>, Malformed> {
    let (_, rest) = split::<HEADER_BYTES>("generic header", 0, message.body)?;
    Ok(attributes(rest, HEADER_BYTES))
}

/// Decodes all attributes into `value`.
pub(super) fn fold<'a, T>(
    attributes: Attributes<'a>,
    mut value: T,
    take: impl Fn(&mut T, Attribute<'a>) -> Result<(), Malformed>,
) -> Result<T, Malformed> {
    for attribute in attributes {
        take(&mut value, attribute?)?;
    }
    Ok(value)
}
