//! Capture files as a source.

use store::model::LinkType;

use super::clients::Clients;
use super::queue::SendQueue;
use super::source::{Fill, SourceError};
use crate::read::{Read, ReadError};

/// Sends the packets of a read job, once or several times.
///
/// ```no_run
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
        }
    }

    /// Opens the job `passes` times, and sends its packets each time.
    #[must_use]
    pub fn repeat(mut self, passes: std::num::NonZeroU64) -> Self {
        self.passes = passes.get();
        self
    }

    /// Changes each frame before it is sent.
    #[must_use]
    pub fn edit(mut self, edit: impl FnMut(&mut Vec<u8>) + Send + 'static) -> Self {
        self.edit = Some(Box::new(edit));
        self
    }

    /// Sends the packets of clients on the interface of the job, and those of servers on its
    /// [second one](super::SendOptions::second_link), in the recorded order. The recorded addresses decide, not the
    /// changed ones.
    #[must_use]
    pub fn split(mut self, clients: Clients) -> Self {
        self.clients = Some(clients);
        self
    }

    /// The source for [`Sender::run`](super::Sender::run).
    pub fn into_source(
        self,
    ) -> impl FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static {
        let Self {
            mut open,
            mut passes,
            mut edit,
            clients,
        } = self;
        let mut read: Option<Read> = None;
        let mut frame = Vec::new();
        let (mut packets, mut is_first_pass) = (0u64, true);
        // An error behind packets is reported after they have been sent.
        let mut failed: Option<ReplayError> = None;
        move |queue| {
            let mut fill = Fill::More;
            if let Some(error) = failed.take() {
                return Err(error.into());
            }
            if read.is_none() {
                if passes == 0 {
                    return Ok(Fill::End);
                }
                passes -= 1;
                if !is_first_pass {
                    fill = Fill::Repeat;
                }
                is_first_pass = false;
                read = Some(open()?);
            }
            let Some(job) = &mut read else {
                return Ok(Fill::End);
            };
            while !queue.is_full() {
                let packet = match job.next() {
                    Ok(Some(packet)) => packet,
                    Ok(None) => {
                        read = None;
                        failed = (packets == 0).then_some(ReplayError::Empty);
                        break;
                    }
                    Err(error) => {
                        failed = Some(error.into());
                        break;
                    }
                };
                frame.clear();
                frame.extend_from_slice(packet.data());
                let (time, interface) = (packet.time(), packet.interface());
                let link_type = job.interfaces()[interface].link_type;
                if link_type != LinkType::ETHERNET {
                    failed = Some(ReplayError::LinkType { link_type });
                    break;
                }
                let is_client = clients.as_ref().is_none_or(|clients| clients.send(&frame));
                if let Some(edit) = &mut edit {
                    edit(&mut frame);
                }
                packets += 1;
                let time_ns = time.as_nanos().unwrap_or(0);
                if is_client {
                    queue.push(time_ns, &frame);
                } else {
                    queue.push_second(time_ns, &frame);
                }
            }
            Ok(fill)
        }
    }
}
