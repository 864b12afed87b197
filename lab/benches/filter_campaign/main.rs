//! Random filters on random packets in every engine: `-- --cases 10000000 --seed 1`.
//!
//! Prints what was compared and every difference; fails if there is one that is not explained.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use tapline_lab::oracle::Campaign;

fn main() -> ExitCode {
    let mut campaign = Campaign {
        seed: 1,
        cases: 10_000_000,
        packets: 2000,
        kernel_packets: 50,
    };
    let mut words = env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        match (word.as_str(), number) {
            ("--seed", Some(number)) => campaign.seed = number,
            ("--cases", Some(number)) => campaign.cases = number,
            ("--packets", Some(number)) => campaign.packets = number as u32,
            ("--kernel-packets", Some(number)) => campaign.kernel_packets = number as u32,
            _ => {
                eprintln!("usage: [--seed N] [--cases N] [--packets N] [--kernel-packets N]");
                return ExitCode::from(2);
            }
        }
    }
    let start = Instant::now();
    let tally = campaign.run();
    print!("{tally}");
    println!("{campaign:?}: {:.1} s", start.elapsed().as_secs_f64());
    ExitCode::from(u8::from(tally.unexplained > 0))
}
