//! An interface that joins a running capture, or that continues with another back end.

use netlink::Netlink;
use store::model::Interface as Description;

use super::super::account::counters::LiveCounters;
use super::super::error::CaptureError;
use super::super::interface::Interface;
use super::super::plan::description;
use super::super::plan::interface_plan::InterfacePlan;
use super::super::plan::options::{CaptureOptions, check_mode};
use super::super::read::queue::RxQueue;

/// An interface whose rings receive packets and that no reader has.
pub struct NewInterface {
    pub interface: Interface,
    pub queues: Vec<RxQueue>,
    pub description: Description,
}

/// Opens interfaces that join a running capture.
pub trait InterfaceOpener: Send {
    /// Opens interface `link` as the one with `number`, in the network namespace of the calling thread: a part for each
    /// reader.
    fn open(
        &self,
        link: &str,
        number: u32,
        options: &CaptureOptions,
    ) -> Result<Vec<NewInterface>, CaptureError>;

    /// Called before the readers get the parts of another interface.
    fn added(&self, _parts: &[NewInterface]) {}

    /// Called before the readers get the parts of an interface that continues with another back end.
    fn exchanged(&self, _parts: &[NewInterface]) {}
}

/// Opens interfaces for a single reader.
pub struct WholeInterfaces;

impl InterfaceOpener for WholeInterfaces {
    fn open(
        &self,
        link: &str,
        number: u32,
        options: &CaptureOptions,
    ) -> Result<Vec<NewInterface>, CaptureError> {
        Ok(vec![NewInterface::open(link, number, options)?])
    }
}

impl NewInterface {
    /// Its counters by name.
    pub fn counters(&self) -> LiveCounters {
        let name = self.interface.link.name.clone();
        LiveCounters::new(vec![(name, self.interface.counters.clone())])
    }

    /// Opens interface `link` as the one with `number`, in the network namespace of the calling thread.
    pub fn open(link: &str, number: u32, options: &CaptureOptions) -> Result<Self, CaptureError> {
        check_mode(options)?;
        // It may join others.
        let options = &CaptureOptions {
            gather_in_kernel: options.gather_in_kernel.filter(|_| number == 0),
            ..options.clone()
        };
        let netlink = &mut Netlink::open()?;
        let plan = InterfacePlan::new(link, options, netlink)?;
        let mut queues = Vec::new();
        let interface = Interface::open(link, number, plan, options, netlink, &mut queues)?;
        let (link, stamping) = (&interface.link, &interface.stamping);
        let description = description::interface(netlink, link, options, stamping)?;
        Ok(Self {
            interface,
            queues,
            description,
        })
    }
}
