//! Prints the packets in a capture file that match a filter: `read FILE [FILTER]`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("usage: read FILE [FILTER]")?;
    let filter = words.next().unwrap_or_default();
    let mut read = tapline::read(path).filter(filter)?.open()?;
    while let Some(packet) = read.next()? {
        println!("{} {}", packet.time(), packet.len());
    }
    println!("{}", read.finish()?);
    Ok(())
}
