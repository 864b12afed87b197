//! Pairs of links, veth and netkit: the peer on the command line, and the check before it is created.

use super::kind::KindSettings;
use super::object::{Link, Netkit, Veth};
use crate::error::InvalidRequest;
use crate::schema::{Arguments, Flatten, InvalidValue, Parsed};
use crate::values::interface::IfName;

impl KindSettings for Veth {
    fn check_new(&self) -> Result<(), InvalidRequest> {
        check_peer(self.peer.as_deref())
    }

    /// `peer [name] NAME [mtu 1400 …]`, to the end of the line.
    fn parse_special_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        if keyword == "peer" {
            self.peer = Some(Box::new(parse_peer(args)?));
        }
        Ok(keyword == "peer")
    }
}

impl KindSettings for Netkit {
    fn check_new(&self) -> Result<(), InvalidRequest> {
        check_peer(self.peer.as_deref())
    }

    /// `peer [forward | blackhole] [scrub none] [name] NAME …`, to the end of the line.
    fn parse_special_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        if keyword != "peer" {
            return Ok(false);
        }
        loop {
            match args.peek() {
                Some("forward" | "blackhole") => self.peer_policy = Some(args.value(keyword)?),
                Some("scrub") => {
                    args.next();
                    self.peer_scrub = Some(args.value("scrub")?);
                }
                _ => break,
            }
        }
        self.peer = Some(Box::new(parse_peer(args)?));
        Ok(true)
    }
}

/// Parses the rest of a line as the peer.
fn parse_peer(args: &mut Arguments<'_>) -> Parsed<Link> {
    let mut peer = Link::new();
    while let Some(word) = args.next() {
        if !Flatten::parse_keyword(&mut peer, word, args)? {
            let name = IfName::new(word).map_err(|_| InvalidValue::new("peer", Some(word)))?;
            peer.name = Some(name);
        }
    }
    Ok(peer)
}

/// The kernel cannot create the peer in the up state. It is set up afterwards, which is impossible in another
/// namespace.
fn check_peer(peer: Option<&Link>) -> Result<(), InvalidRequest> {
    match peer {
        Some(peer) if peer.up == Some(true) && peer.is_in_other_namespace() => {
            Err(InvalidRequest::new(
                "the peer cannot be up when it is created in another namespace: set it up there",
            ))
        }
        _ => Ok(()),
    }
}
