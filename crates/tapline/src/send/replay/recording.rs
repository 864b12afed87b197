//! Capture files as a source.

use std::num::NonZeroU64;

use store::model::LinkType;

use super::clients::Clients;
use crate::read::{Read, ReadError};
use crate::send::queue::SendQueue;
use crate::send::source::{Fill, SourceError};

/// Sends the packets of a read job, once or several times.
///
/// ```no_run
/// # // Not run: it needs an interface, and the packets of a file would reach the stack of the host.
/// use std::num::NonZeroU64;
/// use tapline::send::{Rate, Replay};
///
/// let open = || tapline::read("web.pcapng").filter("tcp port 443")?.open().map_err(Into::into);
/// let mut sender = tapline::send("veth0").rate(Rate::Recorded(1.0)).open()?;
/// sender.run(Replay::new(open).repeat(NonZeroU64::MIN).into_source())?;
/// println!("{}", sender.finish()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replay<O> {
    open: O,
    passes: u64,
    edit: Option<Edit>,
    clients: Option<Clients>,
    is_preloaded: bool,
}

/// Changes a frame before it is sent.
type Edit = Box<dyn FnMut(&mut Vec<u8>) + Send>;

/// A packet that cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Only Ethernet frames can be sent.
    #[error("the file has packets of link type {}; only Ethernet can be sent", link_type.0)]
    LinkType {
        /// Their link type.
        link_type: LinkType,
    },
    /// The file has no packet to send, so it cannot be repeated.
    #[error("no packet to send")]
    Empty,
    /// There are more packets than [`Replay::preload`] keeps.
    #[error("the packets take more than {} GiB of memory", MAX_PRELOADED >> 30)]
    TooLarge,
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl<O> Replay<O>
where
    O: FnMut() -> Result<Read, SourceError> + Send + 'static,
{
    /// Sends the packets of the job that `open` opens.
    pub fn new(open: O) -> Self {
        Self {
            open,
            passes: 1,
            edit: None,
            clients: None,
            is_preloaded: false,
        }
    }

    /// Opens the job `passes` times, and sends its packets each time.
    #[must_use]
    pub fn repeat(mut self, passes: NonZeroU64) -> Self {
        self.passes = passes.get();
        self
    }

    /// Sends the packets over and over, until the sender is stopped or has reached its packet limit.
    #[must_use]
    pub fn repeat_endlessly(self) -> Self {
        // Not reached in any time.
        self.repeat(NonZeroU64::MAX)
    }

    /// Changes each frame before it is sent.
    #[must_use]
    pub fn edit(mut self, edit: impl FnMut(&mut Vec<u8>) + Send + 'static) -> Self {
        self.edit = Some(Box::new(edit));
        self
    }

    /// Sends the packets of clients on the interface of the job, and those of servers on its
    /// [second one](crate::send::SendOptions::second_link), in the recorded order. The recorded addresses decide, not the
    /// changed ones.
    #[must_use]
    pub fn split(mut self, clients: Clients) -> Self {
        self.clients = Some(clients);
        self
    }

    /// Reads all packets before it sends the first one: sending does not wait for the file, and takes one CPU. Memory: the
    /// bytes of the packets, and 64 bytes for each; [`ReplayError::TooLarge`] beyond 8 GiB.
    #[must_use]
    pub fn preload(mut self) -> Self {
        self.is_preloaded = true;
        self
    }

    /// The source for [`Sender::run`](crate::send::Sender::run).
    pub fn into_source(
        self,
    ) -> impl FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static {
        let mut source = ReplaySource {
            open: self.open,
            passes: self.passes,
            edit: self.edit,
            clients: self.clients,
            read: None,
            frame: Vec::new(),
            packets: 0,
            is_first_pass: true,
            failed: None,
            kept: (self.passes > 1 || self.is_preloaded).then(Vec::new),
            kept_bytes: 0,
            at: 0,
            is_preloaded: self.is_preloaded,
        };
        move |queue| source.fill(queue)
    }
}

/// Packets that fit into this memory are read once, however often they are sent.
const MAX_KEPT_BYTES: u64 = 24 << 20;

/// The same for a path with large queues, which sends faster than a file can be read. Only for files known to be no larger,
/// so that others take no more memory.
const MAX_KEPT_FOR_FAST_PATH: u64 = 128 << 20;

/// The most that is kept of files that are to be read before.
const MAX_PRELOADED: u64 = 8 << 30;

/// How many bytes are kept of files of `total_bytes` bytes, which are read into `queue`.
fn most_kept(total_bytes: Option<u64>, queue: &SendQueue) -> u64 {
    match total_bytes {
        Some(total) if total <= MAX_KEPT_FOR_FAST_PATH && queue.is_large() => {
            MAX_KEPT_FOR_FAST_PATH
        }
        _ => MAX_KEPT_BYTES,
    }
}

/// A replay that is under way.
struct ReplaySource<O> {
    open: O,
    /// Passes that have not begun.
    passes: u64,
    edit: Option<Edit>,
    clients: Option<Clients>,
    /// The job that is read.
    read: Option<Read>,
    frame: Vec<u8>,
    packets: u64,
    is_first_pass: bool,
    /// An error behind packets is reported after they have been sent.
    failed: Option<ReplayError>,
    /// The packets of the first pass, as recorded; `None` if they are too many, or sent only once.
    kept: Option<Vec<SendQueue>>,
    kept_bytes: u64,
    /// The next one of `kept`, in a later pass.
    at: usize,
    /// All packets are to be kept, and read before the first is sent.
    is_preloaded: bool,
}

impl<O> ReplaySource<O>
where
    O: FnMut() -> Result<Read, SourceError>,
{
    fn fill(&mut self, queue: &mut SendQueue) -> Result<Fill, SourceError> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        if self.is_preloaded && self.is_first_pass {
            self.preload(queue)?;
        }
        let is_within_pass = self.read.is_some() || self.at > 0;
        if !is_within_pass {
            if self.passes == 0 {
                return Ok(Fill::End);
            }
            self.passes -= 1;
        }
        let is_repeated = !is_within_pass && !self.is_first_pass;
        let is_kept = self.kept.is_some() && (self.at > 0 || is_repeated || self.is_preloaded);
        self.is_first_pass = false;
        if is_kept {
            self.fill_from_kept(queue);
        } else {
            self.fill_from_job(queue)?;
        }
        Ok(if is_repeated {
            Fill::Repeat
        } else {
            Fill::More
        })
    }

    /// Reads all packets.
    fn preload(&mut self, queue: &mut SendQueue) -> Result<(), SourceError> {
        loop {
            self.fill_from_job(queue)?;
            queue.clear();
            if let Some(error) = self.failed.take() {
                return Err(error.into());
            }
            if self.kept.is_none() {
                return Err(ReplayError::TooLarge.into());
            }
            if self.read.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads the next packets, and keeps them in the first pass.
    fn fill_from_job(&mut self, queue: &mut SendQueue) -> Result<(), SourceError> {
        let job = match &mut self.read {
            Some(job) => job,
            None => self.read.insert((self.open)()?),
        };
        // Packets are kept as they were, and changed each time they are sent.
        let mut edit = self.edit.as_mut().filter(|_| !self.is_preloaded);
        let is_changed = edit.is_some() && self.kept.is_some();
        let mut unchanged = is_changed.then(SendQueue::default);
        let mut is_at_end = false;
        while !queue.is_full() {
            let is_first = queue.is_empty();
            let next = if is_first {
                job.next()
            } else {
                job.next_ready()
            };
            let packet = match next {
                Ok(Some(packet)) => packet,
                Ok(None) => {
                    // The packets of a live stream are sent when it pauses.
                    is_at_end = is_first || !job.must_wait();
                    if is_at_end {
                        self.failed = (self.packets == 0).then_some(ReplayError::Empty);
                    }
                    break;
                }
                Err(error) => {
                    self.failed = Some(error.into());
                    break;
                }
            };
            let clients = self.clients.as_ref();
            let is_second = clients.is_some_and(|clients| !clients.send(packet.data()));
            let time_ns = packet.time().as_nanos().unwrap_or(0);
            if let Some(unchanged) = &mut unchanged {
                unchanged.push_to(is_second, time_ns, packet.data());
            }
            if let Some(edit) = &mut edit {
                self.frame.clear();
                self.frame.extend_from_slice(packet.data());
                edit(&mut self.frame);
                queue.push_to(is_second, time_ns, &self.frame);
            } else {
                queue.push_to(is_second, time_ns, packet.data());
            }
            // The packet borrows the job, which knows the interface.
            let interface = packet.interface();
            let link_type = job.interfaces()[interface].link_type;
            if link_type != LinkType::ETHERNET {
                queue.pop();
                if let Some(unchanged) = &mut unchanged {
                    unchanged.pop();
                }
                self.failed = Some(ReplayError::LinkType { link_type });
                break;
            }
            self.packets += 1;
        }
        let total_bytes = job.progress().total_bytes();
        if is_at_end {
            self.read = None;
        }
        self.keep(queue, unchanged, total_bytes);
        Ok(())
    }

    /// Keeps the packets of `queue`, or those as they were, if they are to be sent again and are not too many.
    fn keep(
        &mut self,
        queue: &mut SendQueue,
        unchanged: Option<SendQueue>,
        total_bytes: Option<u64>,
    ) {
        let most = if self.is_preloaded {
            MAX_PRELOADED
        } else {
            most_kept(total_bytes, queue)
        };
        if let Some(all) = &mut self.kept
            && !queue.is_empty()
        {
            self.kept_bytes += queue.memory_bytes() as u64;
            all.push(unchanged.unwrap_or_else(|| queue.share()));
        }
        if self.kept_bytes > most {
            self.kept = None;
        }
    }

    /// Takes the next packets of those that were kept.
    fn fill_from_kept(&mut self, queue: &mut SendQueue) {
        let all = self.kept.as_deref().unwrap_or_default();
        let Some(kept) = all.get(self.at) else {
            return;
        };
        self.at = (self.at + 1) % all.len();
        let Some(edit) = &mut self.edit else {
            queue.take_shared(kept);
            return;
        };
        for index in 0..kept.len() {
            queue.push_edited(kept, index, &mut self.frame, edit);
        }
    }
}
