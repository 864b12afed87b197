//! The Interface Statistics Block.

use super::block::Body;
use super::interface::Port;
use super::options::{self, COMMENT};
use crate::model::Statistics;
use crate::read::error::ReadError;

const START: u16 = 2;
const END: u16 = 3;
const RECEIVED: u16 = 4;
const INTERFACE_DROPPED: u16 = 5;
const FILTER_ACCEPTED: u16 = 6;
const OS_DROPPED: u16 = 7;
const DELIVERED: u16 = 8;

/// The counters, with the interface numbered within its section; `None` if the section has no such
/// interface, for then nothing says what a tick of the time stamps is.
pub(super) fn read(body: Body<'_>, ports: &[Port]) -> Result<Option<Statistics>, ReadError> {
    let ([interface, high, low], rest) = body.words::<3>()?;
    let Some(&Port { clock, .. }) = ports.get(interface as usize) else {
        return Ok(None);
    };
    let mut statistics = Statistics {
        interface,
        timestamp_ns: clock.nanoseconds(high, low),
        ..Statistics::default()
    };
    options::each(body, rest, |option| match option.code {
        COMMENT => statistics.comment = Some(option.text()),
        START => statistics.start_ns = option.time(clock),
        END => statistics.end_ns = option.time(clock),
        RECEIVED => statistics.received = option.u64(),
        INTERFACE_DROPPED => statistics.interface_dropped = option.u64(),
        FILTER_ACCEPTED => statistics.filter_accepted = option.u64(),
        OS_DROPPED => statistics.os_dropped = option.u64(),
        DELIVERED => statistics.delivered = option.u64(),
        _ => {}
    })?;
    Ok(Some(statistics))
}
