use rustix::net::netlink::GENERIC;

use crate::codec::{Attribute, Attributes, Malformed, Message, Request, attributes, split};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::socket::Socket;
use crate::uapi::{CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME, CTRL_CMD_GETFAMILY, GENL_ID_CTRL};

/// Command, version and two bytes of nothing stand before the attributes (`struct genlmsghdr`).
const HEADER_BYTES: usize = 4;
/// The families here and the controller itself are all of this version.
const VERSION: u8 = 1;

/// A socket for the messages of one family.
#[derive(Debug)]
pub(super) struct Family {
    pub socket: Socket,
    id: u16,
}

impl Family {
    /// Opens a socket in the namespace of the calling thread and asks for the number of family `name`.
    pub fn open(name: &'static str) -> Result<Self, NetlinkError> {
        let mut socket = Socket::open(Some(GENERIC))
            .map_err(NetlinkError::about(Action::Open, Subject::Socket))?;
        let mut request = message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, Request::new);
        request.text(CTRL_ATTR_FAMILY_NAME, name.as_bytes());
        let id = socket
            .ask(&mut request, |message| {
                fold(body(message)?, None, |id, attribute| {
                    if attribute.kind == CTRL_ATTR_FAMILY_ID {
                        *id = Some(u16::from_ne_bytes(attribute.array()?));
                    }
                    Ok(())
                })
            })
            .map_err(NetlinkError::about(Action::Get, Subject::Family(name)))?;
        Ok(Self { socket, id })
    }

    /// A request of this family, without attributes yet.
    pub fn request(&self, command: u8) -> Request {
        message(self.id, command, Request::new)
    }

    /// As [`request`](Self::request), for all objects of a kind.
    pub fn dump(&self, command: u8) -> Request {
        message(self.id, command, |kind, _, header| {
            Request::dump(kind, header)
        })
    }

    /// Asks for one object, whose attributes `take` reads into it.
    pub fn get<T: Default>(
        &mut self,
        mut request: Request,
        take: impl Fn(&mut T, Attribute<'_>) -> Result<(), Malformed>,
    ) -> Result<T, Cause> {
        let read = |message: Message<'_>| fold(body(message)?, T::default(), &take).map(Some);
        self.socket.ask(&mut request, read)
    }
}

fn message(kind: u16, command: u8, make: impl FnOnce(u16, u16, &[u8]) -> Request) -> Request {
    make(kind, 0, &[command, VERSION, 0, 0])
}

/// The attributes of a message of any family.
pub(super) fn body(message: Message<'_>) -> Result<Attributes<'_>, Malformed> {
    let (_, rest) = split::<HEADER_BYTES>("generic header", 0, message.body)?;
    Ok(attributes(rest, HEADER_BYTES))
}

/// Reads each attribute into `value`.
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
