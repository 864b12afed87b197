//! Prints how many packets a second the generator delivers into a veth, on CPU 0, to a host that
//! drops them in its stack: `cargo run --release -p tapline-lab --example generator_rate`.

use tapline_lab::Net;
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};

const RUNS: usize = 7;
const FRAMES: u64 = 3_000_000;

fn main() {
    let [left, right] = Net::new().pair();
    for bytes in [60, 128, 512, 1514] {
        let options = GeneratorOptions::new(left.interface().index, udp_frame(bytes));
        let mut generator = left.run(|| Generator::new(options));
        right.run(|| generator.attach_peer(right.interface().index));
        let mut runs: Vec<_> = left.run(|| {
            pin_to_cpu(0).expect("CPU 0");
            (0..RUNS).map(|_| generator.send(FRAMES, None)).collect()
        });
        runs.sort_by(|a, b| a.delivered_pps().total_cmp(&b.delivered_pps()));
        let dropped: u64 = runs.iter().map(|sent| sent.dropped).sum();
        let [least, middle, most] =
            [0, RUNS / 2, RUNS - 1].map(|run| runs[run].delivered_pps() / 1e6);
        println!(
            "{bytes} bytes: {middle:.2} Mpps delivered ({least:.2} to {most:.2}), {dropped} dropped"
        );
    }
}
