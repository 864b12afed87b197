//! A fake kernel and its sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::io::Errno;

use super::port_vlans::PortVlans;
use super::queue::{CAPACITY, Queue};
use super::store::{Done, ObjectStore, StorableObject, Store};
use crate::codec::{Message, Request, messages};
use crate::error::{Action, Cause, NetlinkError, RequestTarget, Syscall};
use crate::interface::IfIndex;
use crate::netlink::Netlink;
use crate::object::Object;
use crate::transport::{Transport, Wait};
use crate::uapi::{NLM_F_ACK, NLM_F_DUMP, NLM_F_MULTI, NLMSG_DONE, NLMSG_ERROR};
use crate::watch::Watch;
use crate::{Addr, Link, Neigh, Nexthop, Route};

/// Maximum size of a part of a list in bytes, as in the kernel.
const PART_BYTES: usize = 32 * 1024;

/// A fake kernel for tests. It stores links, addresses, routes, nexthops, neighbours and VLANs of bridge ports, and
/// other objects after [`keeping`](Self::keeping). It replies, rejects duplicates and missing objects, and notifies watches. Objects on a
/// link are deleted with the link.
///
/// It checks neither ranges nor driver support. A route lookup takes the longest prefix, and then the lowest metric, in the
/// tables local, main and default, in this order: it follows neither rules nor nexthop objects, and chooses no source
/// address. Clones share one kernel.
#[derive(Clone, Debug)]
pub struct FakeKernel {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
pub(super) struct State {
    stores: Vec<Box<dyn Store>>,
    last_index: u32,
    /// The subscribed sockets with their groups.
    listeners: Vec<(Vec<u32>, Weak<Mutex<Queue>>)>,
}

/// The reply to a request.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Parts of a list, which are never lost.
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
                Box::new(ObjectStore::<Link>::new()),
                Box::new(ObjectStore::<Addr>::new()),
                Box::new(ObjectStore::<Route>::new()),
                Box::new(ObjectStore::<Nexthop>::new()),
                Box::new(ObjectStore::<Neigh>::new()),
                Box::<PortVlans>::default(),
            ],
            last_index: 0,
            listeners: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Stores another kind of objects too.
    #[must_use]
    pub fn keeping<O: StorableObject>(self) -> Self {
        self.state().stores.push(Box::new(ObjectStore::<O>::new()));
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

    /// A handle on this kernel.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn netlink(&self) -> io::Result<Netlink> {
        self.socket().map(Netlink::over)
    }

    /// A watch with room for `capacity` unread notifications.
    ///
    /// # Errors
    /// As [`Watch::over`], and `Cause::System` if no descriptor is free.
    pub fn watch<O: Object>(&self, filter: O, capacity: usize) -> Result<Watch<O>, NetlinkError> {
        let notifications = self.subscribe(O::GROUPS, capacity);
        let (notifications, netlink) = notifications
            .and_then(|notifications| Ok((notifications, self.netlink()?)))
            .map_err(|source| {
                let call = Syscall::Socket;
                let cause = Cause::System { call, source };
                NetlinkError::new(Action::Open, RequestTarget::Socket, cause)
            })?;
        Watch::over(notifications, netlink, filter)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a message and returns the reply.
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

    /// Notifies subscribed sockets.
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

/// The message type of the reply to `message`.
fn kind_of(message: Message<'_>) -> u16 {
    // The message types of one object differ in the last two bits.
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

/// An acknowledgement with the header of the request (`NETLINK_CAP_ACK`).
fn answer(message: Message<'_>, code: i32) -> Vec<u8> {
    let mut body = code.to_ne_bytes().to_vec();
    body.extend((16_u32 + message.body.len() as u32).to_ne_bytes());
    body.extend(message.kind.to_ne_bytes());
    body.extend(message.flags.to_ne_bytes());
    body.extend(message.sequence.to_ne_bytes());
    body.extend(message.port.to_ne_bytes());
    datagram(NLMSG_ERROR, message.sequence, &body)
}

/// A socket of a [`FakeKernel`].
#[derive(Debug)]
pub struct FakeSocket {
    kernel: FakeKernel,
    queue: Arc<Mutex<Queue>>,
    signal: OwnedFd,
    capacity: usize,
}

impl FakeSocket {
    pub(super) fn new(kernel: FakeKernel, queue: Arc<Mutex<Queue>>) -> io::Result<Self> {
        let (signal, capacity) = {
            let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            (queue.signal()?, queue.capacity())
        };
        Ok(Self {
            kernel,
            queue,
            signal,
            capacity,
        })
    }
}

impl Transport for FakeSocket {
    fn send(&mut self, datagram: &[u8]) -> io::Result<()> {
        for message in messages(datagram) {
            let message = message.map_err(|_| io::Error::from(Errno::INVAL))?;
            let answers = self.kernel.carry_out(message);
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            answers
                .parts
                .into_iter()
                .for_each(|part| queue.push_part(part));
            answers
                .whole
                .into_iter()
                .for_each(|answer| queue.push(answer));
        }
        Ok(())
    }

    /// Never waits: replies exist when `send` returns.
    fn receive(&mut self, buffer: &mut [u8], _: Wait) -> io::Result<usize> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let datagram = queue.pop()?;
        let fits = datagram.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&datagram[..fits]);
        Ok(datagram.len())
    }

    fn reply_capacity(&self) -> usize {
        self.capacity
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }
}
