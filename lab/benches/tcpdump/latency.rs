//! How long a packet takes to the line that `tcpdump -l` prints.

use std::hint;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::thread;
use std::time::{Duration, Instant};

use abi::clock::realtime_ns;
use tapline::latency::Delays;
use tapline_lab::generator::{pin_to_cpu, send_frames, udp_frame};

use crate::harness::{Report, Running, on_cpu, pause};
use crate::rig::{FRAME_BYTES, READER_CPU, Rig, SENDER_CPU};
use crate::tool::Tool;

/// Packets of a round.
pub const PACKETS: usize = 50;

/// Longer than any of the libraries holds packets back.
const LONGEST_WAIT: Duration = Duration::from_millis(1500);

/// Median, 99th percentile and maximum of a round, in microseconds.
pub fn of(rig: &Rig, tool: &Tool, report: &mut Report) -> [f64; 3] {
    let mut command = tool.command(rig);
    command.args(["-i", &rig.interface(), "-l", "-n", "-tt", "udp"]);
    let (mut tcpdump, pipe) = on_cpu(READER_CPU, || Running::start_piped(command));
    tcpdump.wait_until(|text| text.contains("listening on"));
    let delays = thread::scope(|scope| {
        let read = scope.spawn(|| {
            pin_to_cpu(READER_CPU).expect("the reader's CPU");
            read(pipe)
        });
        send(rig);
        pause(LONGEST_WAIT);
        tcpdump.interrupt();
        read.join().expect("the reader ends")
    });
    tcpdump.finish();
    let printed = delays.histogram.count();
    if printed != PACKETS as u64 {
        report.fail(format!(
            "{} printed {printed} of {PACKETS} packets",
            tool.name
        ));
    }
    [0.5, 0.99, 1.0].map(|share| {
        let ns = delays.quantile(share);
        ns.map_or(f64::NAN, |ns| ns as f64 / 1000.0)
    })
}

/// The delays of the lines at the moment when they come.
fn read(pipe: ChildStdout) -> Delays {
    let mut delays = Delays::default();
    for line in BufReader::new(pipe).lines() {
        let now_ns = realtime_ns();
        let line = line.expect("text");
        // An interrupt prints an empty one.
        if let Some(stamp_ns) = stamp_ns(&line) {
            delays.record(stamp_ns, now_ns);
        }
    }
    delays
}

/// The time at the beginning of a line: seconds, a point, and microseconds.
fn stamp_ns(line: &str) -> Option<u64> {
    let (seconds, rest) = line.split_once('.')?;
    let (us, _) = rest.split_once(' ')?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + us.parse::<u64>().ok()? * 1000)
}

/// Sends a packet every 20 to 60 ms, busy-waiting on the clock.
fn send(rig: &Rig) {
    let out = rig.sender.interface().index;
    let frame = udp_frame(FRAME_BYTES);
    rig.sender.run(move || {
        pin_to_cpu(SENDER_CPU).expect("the sender's CPU");
        let start = Instant::now();
        let due = moments().take(PACKETS).map(|moment| {
            while start.elapsed() < moment {
                hint::spin_loop();
            }
            &frame
        });
        send_frames(out, due).expect("frames are sent");
    });
}

/// Pseudo-random moments (a linear congruential generator): at regular ones packets could meet a timer always alike.
fn moments() -> impl Iterator<Item = Duration> {
    let (mut state, mut now_us) = (1_u64, 0);
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        now_us += 20_000 + (state >> 33) % 40_000;
        Duration::from_micros(now_us)
    })
}
