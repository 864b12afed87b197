//! Prints time and length of the next ten UDP packets: `capture eth0`.

use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    let interface = env::args().nth(1).ok_or("usage: capture INTERFACE")?;
    let mut capture = tapline::capture(interface)
        .filter("udp")?
        .packets(10)
        .open()?;
    while let Some(packet) = capture.next()? {
        println!("{} {}", packet.time(), packet.len());
    }
    println!("{}", capture.finish()?);
    Ok(())
}
