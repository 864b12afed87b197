//! Captures in an event loop until standard input has something to read: `event_loop eth0`.

use rustix::event::{PollFd, PollFlags, poll};
use std::{error::Error, io::Write, os::fd::AsFd, time::Duration};

pub(crate) fn run(
    interface: &str,
    end: impl AsFd,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let mut capture = tapline::capture(interface).open()?;
    let mut is_over = false;
    while !is_over {
        let mut ready = [&capture as &dyn AsFd, &end]
            .map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
        poll(&mut ready, None)?;
        is_over = !ready[1].revents().is_empty();
        let Some(mut batch) = capture.next_batch(Duration::ZERO)? else {
            break;
        };
        while let Some(packet) = batch.next() {
            writeln!(out, "{} {}", packet.time(), packet.len())?;
        }
    }
    Ok(writeln!(out, "{}", capture.finish()?)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let interface = std::env::args()
        .nth(1)
        .ok_or("usage: event_loop INTERFACE")?;
    run(&interface, std::io::stdin(), &mut std::io::stdout())
}
