//! Runs random filters on random packets in every engine: `-- --cases 10000000 --seed 1`.
//!
//! Prints what was compared and every difference. Fails if a difference is unexplained.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tapline_lab::oracle::Campaign;

/// Compare random filters on random packets in every engine
#[derive(Parser)]
struct CampaignOptions {
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 10_000_000)]
    cases: u64,
    #[arg(long, default_value_t = 2000)]
    packets: u32,
    #[arg(long, default_value_t = 50)]
    kernel_packets: u32,
    /// Set by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let options = CampaignOptions::parse();
    let campaign = Campaign {
        seed: options.seed,
        cases: options.cases,
        packets: options.packets,
        kernel_packets: options.kernel_packets,
    };
    let start = Instant::now();
    let tally = campaign.run();
    print!("{tally}");
    println!("{campaign:?}: {:.1} s", start.elapsed().as_secs_f64());
    ExitCode::from(u8::from(tally.unexplained > 0))
}
