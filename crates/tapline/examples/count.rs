//! Counts the packets of an interface for a second: `count eth0`.

use std::{env, error::Error, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let interface = env::args().nth(1).ok_or("usage: count INTERFACE")?;
    let count = tapline::count(interface).class("dns", "udp port 53")?;
    let count = count.class("all", "")?.duration(Duration::from_secs(1));
    let mut count = count.open()?;
    while let Some(interval) = count.next()? {
        println!("{} packets", interval.classes[1].traffic.packets);
    }
    println!("{}", count.finish()?);
    Ok(())
}
