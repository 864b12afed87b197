//! Prints time and length of the next ten UDP packets: `capture eth0`.

use std::error::Error;
use std::io::Write;

pub(crate) fn run(interface: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut capture = tapline::capture(interface)
        .filter("udp")?
        .packets(10)
        .open()?;
    while let Some(packet) = capture.next()? {
        writeln!(out, "{} {}", packet.time(), packet.len())?;
    }
    writeln!(out, "{}", capture.finish()?)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let interface = std::env::args().nth(1).ok_or("usage: capture INTERFACE")?;
    run(&interface, &mut std::io::stdout())
}
