//! A fake kernel and its sockets.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::io::Errno;

use super::port_vlans::PortVlans;
use super::queue::{CAPACITY, Queue};
use super::storable::{Existing, Reference, StorableObject};
use super::store::{Done, ObjectStore, Store};
use crate::codec::{Message, Request, messages};
use crate::error::{Action, Cause, NetlinkError, RequestTarget, Syscall};
use crate::netlink::Netlink;
use crate::object::Object;
use crate::transport::{Transport, Wait};
use crate::uapi::{NLM_F_ACK, NLM_F_DUMP, NLM_F_MULTI, NLMSG_DONE, NLMSG_ERROR};
use crate::values::interface::IfIndex;
use crate::watch::Watch;
use crate::{Addr, Link, Neigh, Nexthop, Route};

/// Maximum size of a part of a list in bytes, as in the kernel.
const PART_BYTES: usize = 32 * 1024;

/// A fake kernel for tests: the configuration of one network namespace in memory. Requires no privilege. Clones share one
/// kernel.
///
/// What it does as the kernel does:
///
/// - It stores links, addresses, routes, nexthops, neighbours and VLANs of bridge ports, and other objects after
///   [`keeping`](Self::keeping). It replies to requests and notifies watches.
/// - A new link gets the next free index and, without a name, the next free one (`veth0`). A veth or netkit is created with its
///   peer. Indexes and names belong to one link.
/// - It rejects objects that exist already, and those that are missing: also the link, master, lower link or nexthop that a request
///   refers to.
/// - With a link it deletes its addresses, routes, nexthops, neighbours and VLANs, its peer, and the VLANs, macvlans, ipvlans and VXLANs on
///   it. Ports lose a master that is deleted. With a nexthop it deletes its routes.
/// - An address has its local route and, while the link is up, the routes to its prefix and its broadcast address.
///
/// What it does not do:
///
/// - It checks neither ranges nor what drivers support, e.g. whether a link can be a master.
/// - It begins without a loopback and without rules, and a new port of a bridge has no VLAN. In the kernel it has VLAN 1.
/// - It does not check whether a link is up or a gateway reachable. Routes through a link that goes down stay, and so do IPv6
///   addresses. IPv6 has neither link-local addresses nor multicast routes.
/// - It supports neither alternative names nor changes of a group of links, and creates all links in its one namespace.
/// - A route lookup takes the longest prefix, and then the lowest metric, in the tables local, main and default, in this order. It
///   follows neither rules nor nexthop objects, and finds own addresses at their link, not at the loopback. Its source address is that of the route.
#[derive(Clone, Debug)]
pub struct FakeKernel {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
pub(super) struct State {
    links: ObjectStore<Link>,
    addrs: ObjectStore<Addr>,
    routes: ObjectStore<Route>,
    others: Vec<Box<dyn Store>>,
    existing: Existing,
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
            links: ObjectStore::new(),
            addrs: ObjectStore::new(),
            routes: ObjectStore::new(),
            others: vec![
                Box::new(ObjectStore::<Nexthop>::new()),
                Box::new(ObjectStore::<Neigh>::new()),
                Box::<PortVlans>::default(),
            ],
            existing: Existing::default(),
            listeners: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Stores another kind of objects too.
    #[must_use]
    pub fn keeping<O: StorableObject>(self) -> Self {
        self.state().others.push(Box::new(ObjectStore::<O>::new()));
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
        let mut handled = None;
        for store in stores(
            &mut self.links,
            &mut self.addrs,
            &mut self.routes,
            &mut self.others,
        ) {
            handled = store.handle(message, &mut self.existing);
            if handled.is_some() {
                break;
            }
        }
        let mut done = handled.ok_or(Errno::OPNOTSUPP)??;
        let answers = std::mem::take(&mut done.answers);
        self.settle(done);
        Ok(Done {
            answers,
            ..Done::default()
        })
    }

    /// Reports what has been done, and carries out what follows from it.
    fn settle(&mut self, done: Done) {
        let mut open = VecDeque::from([done]);
        while let Some(mut done) = open.pop_front() {
            self.report(&done);
            let kept = std::mem::take(&mut done.routes);
            if !kept.is_empty() {
                open.push_back(self.routes.keep(kept, &self.existing));
            }
            for (is_there, reference) in done.references {
                match reference {
                    Reference::Link(index) if is_there => {
                        let routes = self.follow_link(index);
                        open.push_back(self.routes.keep(routes, &self.existing));
                    }
                    _ if is_there => self.existing.add(reference),
                    _ => {
                        self.existing.remove(reference);
                        for store in stores(
                            &mut self.links,
                            &mut self.addrs,
                            &mut self.routes,
                            &mut self.others,
                        ) {
                            open.push_back(store.without(reference, &self.existing));
                        }
                    }
                }
            }
        }
    }

    /// Notes whether a link is up. Returns the routes of its addresses that this adds (true) or deletes.
    fn follow_link(&mut self, index: IfIndex) -> Vec<(bool, Route)> {
        let links = self.links.objects();
        let link = links.iter().find(|link| link.index == Some(index));
        let is_up = link.is_some_and(|link| link.up == Some(true));
        let was_up = self.existing.is_up(index);
        self.existing.set_link(index, is_up);
        if is_up == was_up {
            return Vec::new();
        }
        let addrs = self.addrs.objects();
        let on_link = addrs.iter().filter(|addr| addr.dev == Some(index));
        let of_address = |addr: &Addr| {
            let idle = addr.routes(addrs, false);
            let mut routes = addr.routes(addrs, true);
            routes.retain(|route| !idle.contains(route));
            routes
        };
        let routes = on_link.flat_map(of_address);
        routes.map(|route| (is_up, route)).collect()
    }

    /// Notifies subscribed sockets.
    fn report(&mut self, done: &Done) {
        self.listeners.retain(|(wanted, queue)| {
            let Some(queue) = queue.upgrade() else {
                return false;
            };
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            for it in &done.notifications {
                if it.groups.iter().any(|group| wanted.contains(group)) {
                    queue.push(datagram(it.kind, 0, &it.body));
                }
            }
            true
        });
    }
}

/// All stores, those with what others refer to first.
fn stores<'a>(
    links: &'a mut ObjectStore<Link>,
    addrs: &'a mut ObjectStore<Addr>,
    routes: &'a mut ObjectStore<Route>,
    others: &'a mut [Box<dyn Store>],
) -> impl Iterator<Item = &'a mut dyn Store> {
    let first: [&mut dyn Store; 3] = [links, addrs, routes];
    first.into_iter().chain(
        others
            .iter_mut()
            .map(|store| &mut **store as &mut dyn Store),
    )
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
