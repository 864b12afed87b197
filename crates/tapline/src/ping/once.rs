//! One host, once.

use std::net::IpAddr;
use std::time::Duration;

use probe::targets::Targets;

use super::error::PingError;
use super::event::Event;
use super::options::Options;
use super::pinger::Pinger;
use crate::stop::Stop;

/// Asks `address` once and waits for the answer, `timeout` at most: the round-trip time, or `None`
/// without an answer in time.
///
/// # Errors
/// As [`Pinger::open`]; [`PingError::Setup`] with `Step::Send` when this host refuses to send.
/// # Privileges
/// As [`Pinger::open`].
pub fn ping_once(address: IpAddr, timeout: Duration) -> Result<Option<Duration>, PingError> {
    let options = Options {
        count: Some(1),
        timeout,
        ..Options::default()
    };
    let stop = Stop::new().map_err(super::error::at(super::Step::Wait))?;
    let mut refused = None;
    let pinger = Pinger::open(Targets::from(address), &options)?;
    let outcome = pinger.run(
        &mut |event: &Event<'_>, _: &probe::Prober| {
            if let Event::Dropped { error, .. } = event {
                refused = error.raw_os_error();
            }
        },
        &stop,
    );
    if let Some(code) = refused {
        return Err(super::error::at(super::Step::Send)(
            std::io::Error::from_raw_os_error(code),
        ));
    }
    let rtt = outcome.prober.rtt(0);
    Ok(rtt.map(|rtt| Duration::from_nanos(rtt.last_ns)))
}
