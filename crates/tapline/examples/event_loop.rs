//! Captures in an event loop until standard input has something to read: `event_loop eth0`.

use rustix::event::{PollFd, PollFlags, poll};
use std::{env, error::Error, os::fd::AsFd, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let interface = env::args().nth(1).ok_or("usage: event_loop INTERFACE")?;
    let (mut capture, mut is_over) = (tapline::capture(interface).open()?, false);
    while !is_over && let Some(mut batch) = capture.next_batch(Duration::ZERO)? {
        while let Some(packet) = batch.next() {
            println!("{} {}", packet.time(), packet.len());
        }
        let mut fds = [capture.as_fd(), rustix::stdio::stdin()]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        poll(&mut fds, None)?;
        is_over = !fds[1].revents().is_empty();
    }
    println!("{}", capture.finish()?);
    Ok(())
}
