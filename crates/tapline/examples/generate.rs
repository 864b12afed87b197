//! Sends 100 000 TCP connection requests of 65 536 flows, with a stamp each: `generate veth0`. `tapline count --by stamp`
//! at the other end says what became of them. Refuses an interface with a default route.

use std::error::Error;

use tapline::packet::MacAddress;
use tapline::send::{Generator, PacketKind};

fn main() -> Result<(), Box<dyn Error>> {
    let interface = std::env::args().nth(1).ok_or("usage: generate INTERFACE")?;
    let generator = Generator::new(PacketKind::TcpSyn)
        .source("198.18.0.0/16".parse()?)
        .destination("198.19.0.1".parse()?)
        .destination_ports("443".parse()?)
        .destination_mac(MacAddress([2, 0, 0, 0, 0, 2]))
        .stamp(1)
        .packets(100_000)
        .for_interface(&interface, None)?;
    let mut sender = tapline::send(interface).open()?;
    sender.run(generator.into_source()?)?;
    println!("{}", sender.finish()?);
    Ok(())
}
