//! Waits with epoll for packets of an interface and for changes of all links: `epoll eth0`.
//! Ends when the interface goes down.

use std::error::Error;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use tapline::net::{Event, Link};

const PACKETS: EventData = EventData::new_u64(1);
const LINKS: EventData = EventData::new_u64(2);

fn main() -> Result<(), Box<dyn Error>> {
    let interface = std::env::args().nth(1).ok_or("usage: epoll INTERFACE")?;
    let mut capture = tapline::capture(&interface).open()?;
    let mut watch = tapline::net().open()?.watch(Link::new())?;

    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, capture.as_fd(), PACKETS, EventFlags::IN)?;
    epoll::add(&epoll, watch.as_fd(), LINKS, EventFlags::IN)?;
    let mut ready = Vec::with_capacity(2);
    loop {
        // The links that exist are reported first, before the descriptor becomes readable.
        while let Some(event) = watch.try_next()? {
            if let Event::Changed { before, after } = event
                && before.up != after.up
            {
                let state = if after.up == Some(true) { "up" } else { "down" };
                println!("{} is {state}", after.ifname());
                if after.ifname().to_string() == interface {
                    println!("{}", capture.finish()?);
                    return Ok(());
                }
            }
        }
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut ready), None)?;
        if ready
            .drain(..)
            .any(|event| event.data.u64() == PACKETS.u64())
            && let Some(mut batch) = capture.next_batch(Duration::ZERO)?
        {
            while let Some(packet) = batch.next() {
                println!("{} {}", packet.time(), packet.len());
            }
        }
    }
}
