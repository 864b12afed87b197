//! Pings many hosts and prints those that lost probes: `ping_many 10.0.0.0/22 2001:db8::/122`.

use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let targets: Vec<String> = std::env::args().skip(1).collect();
    let mut ping = tapline::ping(targets)
        .count(3)
        .interval(Duration::from_millis(200))
        .timeout(Duration::from_millis(500))
        .open()?;
    // The closure sees every event; the statistics need none of them.
    ping.run(|_event, _statistics| {})?;
    let summary = ping.finish()?;
    let statistics = &summary.statistics;
    for target in 0..statistics.targets().len() {
        let counts = statistics.counts(target);
        if counts.received < counts.sent
            && let Some(address) = statistics.targets().address(target)
        {
            println!("{address}: {} of {} answered", counts.received, counts.sent);
        }
    }
    if let Some(p99) = statistics.histogram().quantile(0.99) {
        println!(
            "99 % of the round trips take at most {:?}",
            Duration::from_nanos(p99)
        );
    }
    println!("{summary}");
    Ok(())
}
