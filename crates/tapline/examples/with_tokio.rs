//! Captures in a tokio task: `with_tokio eth0` prints ten packets, or ends after five seconds without one.
//!
//! The library has no runtime of its own. Every job exposes a descriptor, which `AsyncFd` waits for.

use std::error::Error;
use std::os::fd::AsFd;
use std::time::Duration;

use tapline::Capture;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

const MAX_WAIT: Duration = Duration::from_secs(5);

async fn print_packets(capture: &mut Capture) -> Result<(), Box<dyn Error>> {
    #[expect(
        deprecated,
        reason = "its successor is unsafe; an owned descriptor is valid as long as AsyncFd holds it"
    )]
    let readable = AsyncFd::new(capture.as_fd().try_clone_to_owned()?)?;
    while let Ok(guard) = timeout(MAX_WAIT, readable.readable()).await {
        let mut guard = guard?;
        // A timeout of zero never blocks the runtime's thread.
        let Some(mut batch) = capture.next_batch(Duration::ZERO)? else {
            return Ok(());
        };
        let mut is_empty = true;
        while let Some(packet) = batch.next() {
            is_empty = false;
            println!("{} {}", packet.time(), packet.len());
        }
        if is_empty {
            guard.clear_ready();
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let interface = words.next().ok_or("usage: with_tokio INTERFACE")?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let mut capture = tapline::capture(interface).packets(10).open()?;
    runtime.block_on(print_packets(&mut capture))?;
    println!("{}", capture.finish()?);
    Ok(())
}
