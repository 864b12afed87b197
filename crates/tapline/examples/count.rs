//! Counts the packets of an interface for a second: `count IF`.

use std::{env, error::Error, time::Duration};
use tapline::count::CountSummary;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let interface = env::args().nth(1).ok_or("usage: count IF")?;
    println!("{}", count_packets(&interface)?);
    Ok(())
}

pub(crate) fn count_packets(interface: &str) -> Result<CountSummary, Box<dyn Error + Send + Sync>> {
    let count = tapline::count(interface).class("dns", "udp port 53")?;
    let count = count.class("all", "")?.duration(Duration::from_secs(1));
    let mut count = count.open()?;
    while let Some(interval) = count.next()? {
        println!("{} packets", interval.classes[1].traffic.packets);
    }
    Ok(count.finish()?)
}
