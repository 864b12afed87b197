//! Several delivery settings, measured at once on the same traffic.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use abi::signal::with_signals_blocked;
use abi::socket::packet_socket;
use abi::timestamp::enable_rx_timestamps;

use super::job::{LatencySummary, measure_window};
use super::setting::DeliverySetting;
use super::window::MeasurementWindow;
use crate::capture::{Capture, CaptureError, Limits};
use crate::stop::Stop;

/// Open captures with different settings.
///
/// The kernel hands every packet to each of them, which delays the others a little.
pub struct Comparison {
    captures: Vec<(String, Capture)>,
    window: MeasurementWindow,
    /// Makes the kernel stamp each packet once, before all rings. Otherwise it would stamp at each ring, and the
    /// results would differ by the time from one ring to the next.
    _stamps: OwnedFd,
}

impl Comparison {
    /// Opens a capture for each setting. `limits` are those of the comparison and count lost packets as well; the
    /// settings' own limits are ignored.
    ///
    /// # Errors
    /// As [`Capture::open`].
    /// # Privileges
    /// As [`Capture::open`].
    pub fn open(settings: Vec<DeliverySetting>, limits: Limits) -> Result<Self, CaptureError> {
        let wait = |source| CaptureError::Wait { source };
        let window = MeasurementWindow::new(settings.len(), limits).map_err(wait)?;
        let open = |setting: DeliverySetting| {
            let options = setting.options.limits(Limits::default());
            Ok((setting.name, Capture::open(options)?))
        };
        let captures: Result<Vec<_>, CaptureError> = settings.into_iter().map(open).collect();
        let captures = captures?;
        let stamps = packet_socket().and_then(|socket| {
            enable_rx_timestamps(socket.as_fd())?;
            Ok(socket)
        });
        Ok(Self {
            captures,
            window,
            _stamps: stamps.map_err(wait)?,
        })
    }

    /// Reads each capture in a thread of its own until `stop` or a limit. Returns the names of the settings with
    /// their results, in the order of the settings.
    ///
    /// All results are about the same packets: those stamped after all threads had read their backlog and before
    /// the first one stopped. Unless all of them lost packets, measured and lost packets have the same sum.
    /// `started` is called with the start in nanoseconds of `CLOCK_REALTIME`.
    ///
    /// # Errors
    /// A thread could not be started.
    pub fn run(
        self,
        stop: &Stop,
        started: impl FnOnce(u64),
    ) -> io::Result<Vec<(String, LatencySummary)>> {
        let Self {
            captures,
            window,
            _stamps,
        } = self;
        if captures.is_empty() {
            return Ok(Vec::new());
        }
        thread::scope(|scope| {
            let start = |(name, capture)| {
                let window = &window;
                let measure = move || (name, measure_window(capture, window, ()).0);
                with_signals_blocked(|| thread::Builder::new().spawn_scoped(scope, measure))
            };
            let running: io::Result<Vec<_>> = captures.into_iter().map(start).collect();
            // The other threads wait for the missing one.
            let running = running.inspect_err(|_| window.end())?;
            started(window.wait_for_start());
            // If waiting fails, the window has ended.
            let _ = window.wait_for_end(stop);
            let duration = window.duration();
            let join = |reader: ScopedJoinHandle<'_, (String, LatencySummary)>| {
                let (name, summary) = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
                (
                    name,
                    LatencySummary {
                        duration,
                        ..summary
                    },
                )
            };
            let mut rows: Vec<_> = running.into_iter().map(join).collect();
            correct_losses(&mut rows);
            Ok(rows)
        })
    }
}

/// A reader that lost nothing knows the number of packets.
fn correct_losses(rows: &mut [(String, LatencySummary)]) {
    let complete = rows.iter().filter(|(_, summary)| summary.lost == 0);
    if let Some(all) = complete.map(|(_, summary)| summary.packets()).max() {
        for (_, summary) in rows {
            summary.lost = all.saturating_sub(summary.packets());
        }
    }
}
