//! Compiles a filter and runs it on each packet of a file: `run_filter trace.pcap 'tcp port 443'`.
//!
//! `tapline::read(path).filter(…)` does this on all CPUs. Compile a filter yourself to filter packets of your own.

use std::error::Error;
use std::path::Path;

use tapline::file::read::{Item, Reader};
use tapline::filter::{CompiledFilter, FilterOptions, LinkType, NoNames};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("usage: run_filter FILE FILTER");
    let (path, text) = (word()?, word()?);

    // The filter depends on the link type. The example expects files of Ethernet packets.
    let filter = match CompiledFilter::new(&text, &FilterOptions::new(LinkType::Ethernet), &NoNames)
    {
        Ok(filter) => filter,
        Err(error) => return Err(format!("{error}\n{}", error.caret(&text)).into()),
    };
    let program = filter.native()?;
    println!(
        "{} instructions of classic BPF",
        filter.classic()?.instructions().len()
    );

    let mut reader = Reader::open(Path::new(&path))?;
    let (mut packets, mut accepted) = (0_u32, 0_u32);
    while let Some(item) = reader.next_item()? {
        if let Item::Packet(packet) = item {
            packets += 1;
            // The result is the number of bytes to keep, 0 to reject.
            accepted += u32::from(program.run(packet.bytes, packet.original_len) > 0);
        }
    }
    println!("{accepted} of {packets} packets match");
    Ok(())
}
