//! Sends 1000 UDP packets at 10 000 per second: `send veth0`. Refuses an interface with a default route.

use std::error::Error;

use tapline::packet::MacAddress;
use tapline::packet::build::Frame;
use tapline::send::{Rate, SendQueue};

fn main() -> Result<(), Box<dyn Error>> {
    let interface = std::env::args().nth(1).ok_or("usage: send INTERFACE")?;
    let addresses = [
        MacAddress([2, 0, 0, 0, 0, 1]),
        MacAddress([2, 0, 0, 0, 0, 2]),
    ];
    let [source, destination] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
    let mut queue = SendQueue::default();
    for number in 0..1000_u32 {
        let frame = Frame::ethernet(addresses[0], addresses[1])
            .ipv4(source, destination)
            .udp(1024, 9)
            .payload(&number.to_be_bytes());
        queue.push(0, &frame);
    }
    let rate = Rate::Packets(10_000.try_into()?);
    let mut sender = tapline::send(interface).rate(rate).open()?;
    sender.transmit(&queue)?;
    println!("{}", sender.finish()?);
    Ok(())
}
