//! `tapline monitor`: changes, as they happen.

use std::io::{self, Write};
use std::os::fd::AsFd;

use abi::namespace::NetNamespace;
use netlink::NetlinkError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::json;

use super::door::{Follower, Noun, Told};
use super::fields::printable;
use super::job::Stack;
use crate::args::MonitorArgs;
use crate::failure::{Exit, Failure};
use crate::{json, signals};

/// Runs `tapline monitor`.
pub fn run(args: &MonitorArgs) -> Result<Exit, Failure> {
    let namespace = args.netns.as_deref().map(NetNamespace::named);
    let namespace = namespace
        .transpose()
        .map_err(|error| Failure::job(&error))?;
    let mut names = Stack::open(args.netns.as_deref())?.names;
    let mut followers = followers(args, namespace.as_ref())?;
    let stop = signals::stop()?;
    if args.changes {
        for follower in &mut followers {
            // What is there is told first, and then nothing until something happens.
            while follower.next(&mut names)?.is_some() {}
        }
    }
    let mut told = 0;
    loop {
        for follower in &mut followers {
            while let Some(change) = follower.next(&mut names)? {
                if args.count.is_some_and(|most| told >= most) {
                    return end(told, args);
                }
                tell(&change, args)?;
                told += 1;
            }
        }
        if args.count.is_some_and(|most| told >= most) || !wait(&followers, &stop)? {
            return end(told, args);
        }
    }
}

fn followers(
    args: &MonitorArgs,
    namespace: Option<&NetNamespace>,
) -> Result<Vec<Box<dyn Follower>>, Failure> {
    let watch = |noun: Noun| noun.door().watch(namespace);
    if args.objects.is_empty() {
        // What this kernel does not have is not there to be followed.
        let lacks = |error: &NetlinkError| error.errno() == Some(libc::EOPNOTSUPP);
        let watches = Noun::all().map(watch);
        let watches = watches.filter(|watch| !watch.as_ref().is_err_and(lacks));
        return watches.map(|watch| watch.map_err(Failure::from)).collect();
    }
    let named = |word: &String| {
        let line = format!("{word:?} is nothing to follow");
        Noun::named(word).ok_or_else(|| Failure::new(Exit::Usage, line))
    };
    let nouns: Vec<Noun> = args.objects.iter().map(named).collect::<Result<_, _>>()?;
    let watches = nouns.into_iter().map(watch);
    watches.map(|watch| watch.map_err(Failure::from)).collect()
}

/// Waits until there may be a change; false when the job is to end.
fn wait(followers: &[Box<dyn Follower>], stop: &tapline::Stop) -> Result<bool, Failure> {
    let mut descriptors = vec![PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)];
    let others = followers.iter().map(|follower| follower.as_fd());
    descriptors.extend(others.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    match poll(&mut descriptors, None) {
        Ok(_) | Err(Errno::INTR) => Ok(descriptors[0].revents().is_empty()),
        Err(errno) => Err(Failure::job(&io::Error::from(errno))),
    }
}

fn tell(change: &Told, args: &MonitorArgs) -> io::Result<()> {
    let Told {
        event,
        noun,
        text,
        json,
    } = change;
    if args.json {
        return json::print(&json!({ "event": event, "object": noun, *noun: json }));
    }
    let text = printable(text);
    let mut out = io::stdout().lock();
    match *event {
        "overrun" => writeln!(out, "[{noun}] overrun: what follows is brought up to date")?,
        "removed" => writeln!(out, "[{noun}] Deleted {text}")?,
        _ => writeln!(out, "[{noun}] {text}")?,
    }
    out.flush()
}

fn end(told: u64, args: &MonitorArgs) -> Result<Exit, Failure> {
    if args.json {
        json::print(&json!({ "event": "summary", "events": told }))?;
    }
    Ok(Exit::Done)
}
