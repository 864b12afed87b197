//! The interrupts of the receive queues, on the CPUs of their readers.

use netlink::Netlink;

use super::super::plan::options::CaptureOptions;
use super::options::OpenReader;
use crate::irq::{Interface, IrqPaths, IrqPinning};

/// Pins the interrupt of each receive queue to the CPU of its reader. `None` in another network namespace, whose devices
/// `/sys` does not show.
pub fn pin_irqs(options: &CaptureOptions, readers: &[OpenReader]) -> Option<IrqPinning> {
    if options.namespace.is_some() {
        return None;
    }
    let mut netlink = Netlink::open().ok()?;
    let mut pinning = IrqPinning::new(IrqPaths::of_host().ok()?);
    for name in &options.links {
        let Ok(link) = netlink.link_named(name) else {
            continue;
        };
        let Some(address) = &link.address else {
            continue;
        };
        let interface = Interface {
            name,
            index: link.ifindex().0,
            address: address.as_bytes(),
        };
        pinning.pin(&interface, |queue| cpu_of(queue, readers));
    }
    Some(pinning)
}

/// The CPU of the reader of a receive queue. Readers that share the queues get their interrupts in turn.
fn cpu_of(queue: u32, readers: &[OpenReader]) -> Option<usize> {
    if let Some(reader) = readers.iter().find(|reader| reader.queue == Some(queue)) {
        return Some(reader.cpu);
    }
    let has_queues = readers.iter().any(|reader| reader.queue.is_some());
    (!has_queues).then(|| readers[queue as usize % readers.len()].cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_goes_to_the_reader_of_its_queue() {
        let reader = |queue, cpu| OpenReader { queue, cpu };
        let of_queues = [reader(Some(1), 4), reader(Some(3), 6)];
        let cpus: Vec<_> = (0..4).map(|queue| cpu_of(queue, &of_queues)).collect();
        assert_eq!(cpus, [None, Some(4), None, Some(6)]);
        let shared = [reader(None, 4), reader(None, 6)];
        let cpus: Vec<_> = (0..4).map(|queue| cpu_of(queue, &shared)).collect();
        assert_eq!(cpus, [Some(4), Some(6), Some(4), Some(6)]);
    }
}
