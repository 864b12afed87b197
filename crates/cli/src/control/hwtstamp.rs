//! `tapline ctl hwtstamp`: which packets an interface stamps in hardware.

use std::io::{self, Write as _};

use serde_json::json;
use tapline::hwtstamp::{StampDevice, StampError};

use crate::args::OnOff;
use crate::failure::{Exit, Failure, NO_LINK, chain};
use crate::output::json;
use crate::screen::printable;

pub fn run(interface: &str, state: Option<OnOff>, as_json: bool) -> Result<Exit, Failure> {
    let mut device = StampDevice::open(interface).map_err(|error| failure(&error))?;
    let mut setting = device.present().map_err(|error| failure(&error))?;
    if let Some(state) = state {
        let wanted = match state {
            OnOff::On => setting.stamping_all_received(),
            OnOff::Off => setting.stamping_none_received(),
        };
        if wanted != setting {
            setting = device.set(wanted).map_err(|error| failure(&error))?;
        }
    }
    let known = device
        .capabilities()
        .map_err(|error| failure(&error.into()))?;
    let clock = known.as_ref().and_then(|known| known.clock);
    let clock = clock.map(|number| format!("/dev/ptp{number}"));
    let filters = known.map(|known| known.receive_filters);
    let shown = if as_json {
        json::print(&json!({
            "event": "hwtstamp",
            "interface": interface,
            "receive": setting.receive_name(),
            "transmit": setting.transmit_name(),
            "receive_filters": filters,
            "clock": clock,
        }))
    } else {
        let clock = clock.unwrap_or_else(|| "none".to_owned());
        writeln!(
            io::stdout().lock(),
            "{}  receive {}  transmit {}  supported {}  clock {clock}",
            printable(interface),
            setting.receive_name(),
            setting.transmit_name(),
            filters.map_or_else(|| "unknown".to_owned(), |filters| filters.join(",")),
        )
    };
    shown.map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}

fn failure(error: &StampError) -> Failure {
    let line = chain(error);
    if let StampError::Link(error) = error
        && error.errno() == Some(libc::ENODEV)
    {
        return Failure::new(Exit::Failed, format!("{line} ({NO_LINK})"));
    }
    if error.needs_privilege() {
        let line = format!("{line} (needs CAP_NET_ADMIN; run with sudo or setcap)");
        return Failure::new(Exit::Privilege, line);
    }
    let exit = if error.is_unsupported() {
        Exit::Unsupported
    } else {
        Exit::Failed
    };
    Failure::new(exit, line)
}
