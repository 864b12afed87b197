use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::io::Errno;

use super::kept::Kept;
use super::queue::{CAPACITY, Queue};
use super::socket::FakeSocket;
use super::store::{Done, Kind, Store};
use crate::codec::{Message, Request};
use crate::error::{Action, Cause, NetlinkError, Step, Subject};
use crate::handle::Netlink;
use crate::interface::IfIndex;
use crate::object::Object;
use crate::uapi::{NLM_F_ACK, NLM_F_DUMP, NLM_F_MULTI, NLMSG_DONE, NLMSG_ERROR};
use crate::watch::Watch;
use crate::{Addr, Link, Neigh, Nexthop, Route};

/// A part of a list is no longer than this, as the kernel's.
const PART_BYTES: usize = 32 * 1024;

/// A kernel of a test: it keeps links, addresses, routes, nexthops, neighbours and whatever other objects it is
/// made for ([`keeping`](Self::keeping)), answers, refuses what is there or is not, and tells those who watch.
/// What is on a link goes with it.
///
/// It knows no more than that: a name that is taken or an object that is missing, but neither ranges nor
/// what a driver can do. Clones are the same kernel.
#[derive(Clone, Debug)]
pub struct FakeKernel {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
pub(super) struct State {
    stores: Vec<Box<dyn Store>>,
    last_index: u32,
    /// The sockets that listen, with their groups.
    listeners: Vec<(Vec<u32>, Weak<Mutex<Queue>>)>,
}

/// Datagrams for the one who asked.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Those of a list, for which there is always room.
    pub parts: Vec<Vec<u8>>,
    pub whole: Vec<Vec<u8>>,
}

impl Default for FakeKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeKernel {
    /// A kernel without links.
    pub fn new() -> Self {
        let state = State {
            stores: vec![
                Box::new(Kind::<Link>::new()),
                Box::new(Kind::<Addr>::new()),
                Box::new(Kind::<Route>::new()),
                Box::new(Kind::<Nexthop>::new()),
                Box::new(Kind::<Neigh>::new()),
            ],
            last_index: 0,
            listeners: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Makes it keep objects of another kind, too.
    #[must_use]
    pub fn keeping<O: Kept>(self) -> Self {
        self.state().stores.push(Box::new(Kind::<O>::new()));
        self
    }

    /// A socket for requests.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn socket(&self) -> io::Result<FakeSocket> {
        FakeSocket::new(self.clone(), Arc::new(Mutex::new(Queue::new(CAPACITY)?)))
    }

    /// A socket that receives the notifications of `groups`, of which `capacity` fit unread.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn subscribe(&self, groups: &[u32], capacity: usize) -> io::Result<FakeSocket> {
        let queue = Arc::new(Mutex::new(Queue::new(capacity)?));
        let listener = (groups.to_vec(), Arc::downgrade(&queue));
        self.state().listeners.push(listener);
        FakeSocket::new(self.clone(), queue)
    }

    /// A handle on its configuration.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn netlink(&self) -> io::Result<Netlink> {
        self.socket().map(Netlink::over)
    }

    /// A watch of its objects, with room for `capacity` unread notifications.
    ///
    /// # Errors
    /// As [`Watch::over`], and `Cause::System` without descriptors for its sockets.
    pub fn watch<O: Object>(&self, filter: O, capacity: usize) -> Result<Watch<O>, NetlinkError> {
        let notifications = self.subscribe(O::GROUPS, capacity);
        let (notifications, netlink) = notifications
            .and_then(|notifications| Ok((notifications, self.netlink()?)))
            .map_err(|source| {
                let step = Step::Socket;
                let cause = Cause::System { step, source };
                NetlinkError::new(Action::Open, Subject::Socket, cause)
            })?;
        Watch::over(notifications, netlink, filter)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a message and returns what is to be said.
    pub(super) fn carry_out(&self, message: Message<'_>) -> Answers {
        let mut answers = Answers::default();
        let mut state = self.state();
        let is_list = message.flags & NLM_F_DUMP == NLM_F_DUMP;
        match state.handle(message) {
            Ok(done) if is_list => {
                let mut part = Request::default();
                for body in &done.answers {
                    put(&mut part, kind_of(message), message.sequence, body);
                    if part.bytes().len() >= PART_BYTES {
                        answers.parts.push(part.bytes().to_vec());
                        part.clear();
                    }
                }
                put(
                    &mut part,
                    NLMSG_DONE,
                    message.sequence,
                    &0_i32.to_ne_bytes(),
                );
                answers.parts.push(part.bytes().to_vec());
            }
            Ok(done) => {
                for body in &done.answers {
                    let kind = kind_of(message);
                    answers.whole.push(datagram(kind, message.sequence, body));
                }
                if message.flags & NLM_F_ACK != 0 {
                    answers.whole.push(answer(message, 0));
                }
            }
            Err(errno) => answers.whole.push(answer(message, -errno.raw_os_error())),
        }
        answers
    }
}

impl State {
    fn handle(&mut self, message: Message<'_>) -> Result<Done, Errno> {
        let index = IfIndex(self.last_index + 1);
        let mut handled = self
            .stores
            .iter_mut()
            .enumerate()
            .find_map(|(at, store)| store.handle(message, index).map(|done| (at, done)));
        let Some((at, done)) = handled.take() else {
            return Err(Errno::OPNOTSUPP);
        };
        let done = done?;
        self.last_index += 1;
        self.tell(at, &done);
        if let Some(link) = done.link_gone.filter(|_| at == 0) {
            for at in 1..self.stores.len() {
                let gone = self.stores[at].drop_link(link);
                self.tell(at, &gone);
            }
        }
        Ok(done)
    }

    /// Tells those who listen.
    fn tell(&mut self, store: usize, done: &Done) {
        let (new, del) = self.stores[store].kinds();
        let groups = self.stores[store].groups();
        self.listeners.retain(|(wanted, queue)| {
            let Some(queue) = queue.upgrade() else {
                return false;
            };
            if groups.iter().any(|group| wanted.contains(group)) {
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                for (is_there, body) in &done.changes {
                    queue.push(datagram(if *is_there { new } else { del }, 0, body));
                }
            }
            true
        });
    }
}

/// The type of the objects that answer `message`.
fn kind_of(message: Message<'_>) -> u16 {
    // RTM_NEW…, RTM_DEL… and RTM_GET… of one kind differ in the last two bits.
    message.kind & !3
}

fn put(request: &mut Request, kind: u16, sequence: u32, body: &[u8]) {
    request.begin(kind, NLM_F_MULTI, body);
    request.finish(sequence);
    request.fill_up();
}

fn datagram(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let mut request = Request::default();
    request.begin(kind, 0, body);
    request.finish(sequence);
    request.bytes().to_vec()
}

/// An acknowledgement, with the header of the request as the kernel has it (`NETLINK_CAP_ACK`).
fn answer(message: Message<'_>, code: i32) -> Vec<u8> {
    let mut body = code.to_ne_bytes().to_vec();
    body.extend((16_u32 + message.body.len() as u32).to_ne_bytes());
    body.extend(message.kind.to_ne_bytes());
    body.extend(message.flags.to_ne_bytes());
    body.extend(message.sequence.to_ne_bytes());
    body.extend(message.port.to_ne_bytes());
    datagram(NLMSG_ERROR, message.sequence, &body)
}
