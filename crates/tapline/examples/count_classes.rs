//! Counts the packets of an interface by class and source address for three seconds: `count_classes eth0`.
//!
//! The kernel counts. No packet is copied to this process.

use std::error::Error;
use std::time::Duration;

use tapline::count::GroupBy;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let interface = words.next().ok_or("usage: count_classes INTERFACE")?;
    let mut count = tapline::count(interface)
        .class("dns", "udp port 53")?
        .class("web", "tcp port 80 or tcp port 443")?
        .class("all", "")?
        .by(GroupBy::Src)
        .interval(Duration::from_secs(1))
        .duration(Duration::from_secs(3))
        .open()?;
    while let Some(interval) = count.next()? {
        for class in &interval.classes {
            let seconds = interval.span_ns as f64 / 1e9;
            let rate = class.traffic.packets as f64 / seconds;
            println!("{:4} {rate:10.0} packets/s", class.name);
            for group in class.groups.iter().take(3) {
                println!(
                    "     {:10} packets from {}",
                    group.traffic.packets, group.key
                );
            }
        }
    }
    println!("{}", count.finish()?);
    Ok(())
}
