//! What a run will be.

use probe::Forecast;
use probe::targets::Targets;

use super::error::PingError;
use super::neighbours;
use super::opening;
use super::options::Options;

/// What a run over `targets` will be, with what limits for prefixes and for neighbours add if nobody answers.
///
/// Sends nothing. Goes over all targets and asks the kernel for the links and routes of this host.
///
/// # Errors
/// The first value of the options that is out of range, or why the addresses cannot be had.
pub fn forecast(targets: &Targets, options: &Options) -> Result<Forecast, PingError> {
    let (plan, _) = opening::plan(options, targets.len())?;
    let on_link = neighbours::count(targets, options.neighbours.most)?;
    let forecast = plan.forecast(targets.len())?;
    Ok(forecast.with_limits(&plan, targets, on_link))
}
