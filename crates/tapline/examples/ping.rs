//! Pings a host or a list of targets: `cargo run --example ping -- 192.0.2.1 198.51.100.0/28`.

use tapline::ping::PingError;

fn main() -> Result<(), PingError> {
    let targets: Vec<String> = std::env::args().skip(1).collect();
    let mut ping = tapline::ping(targets).count(3).open()?;
    while let Some(event) = ping.next()? {
        if let (Some(probe), Some(rtt)) = (event.probe(), event.rtt())
            && let Some(address) = ping.statistics().targets().address(probe.target)
        {
            println!("{address}: sequence {}, {rtt:?}", probe.sequence());
        }
    }
    println!("{}", ping.finish()?);
    Ok(())
}
