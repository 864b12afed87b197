//! Experiment 6: statistics mode. Only counters reach user space.

use tapline::count::IngressHook;
use tapline_lab::generator::udp_frame;

use crate::harness::Report;
use crate::way::{Rig, Way};
use crate::{BySize, SIZES, add_rates, columns};

const PASSED: &str = "Experiment 6: statistics mode, thousands of packets/s that pass";
const COUNTED: &str = "Experiment 6: statistics mode, counted, %";
const CPU: &str =
    "Experiment 6: statistics mode, ns of CPU per packet of sender, kernel and programs";
const PACKETS: u64 = 500_000;

/// Every packet matches.
const FILTER: &str = "udp port 9";

pub fn measure(report: &mut Report) {
    let tapline = |hook| Way::Tapline(hook, vec![FILTER.into()]);
    let ways = [
        ("no counter", Way::Nothing),
        ("tapline count, XDP", tapline(IngressHook::Auto)),
        ("tapline count, tc", tapline(IngressHook::Tc)),
        ("nftables counter", Way::Nftables("udp dport 9")),
        ("tcpdump -s 68 -w - | wc -c", Way::Tcpdump(FILTER)),
    ];
    let mut rigs = SIZES.map(|bytes| Rig::build(udp_frame(bytes)));
    for _ in report.rounds("statistics") {
        for (name, way) in &ways {
            let mut figures: [BySize; 3] = [[f64::NAN; SIZES.len()]; 3];
            for (size, rig) in rigs.iter_mut().enumerate() {
                if let Some([pps, ppm, _, _, ns]) = rig.trial(way, PACKETS) {
                    let values = [pps, ppm / 1e4, ns];
                    figures
                        .iter_mut()
                        .zip(values)
                        .for_each(|(figures, value)| figures[size] = value);
                }
            }
            let [pps, counted, ns] = figures;
            add_rates(report, PASSED, name, &pps);
            report.table(COUNTED, &columns(1.0, 1)).add(name, &counted);
            report.table(CPU, &columns(1.0, 0)).add(name, &ns);
        }
    }
    report.note(format!(
        "Statistics mode: one filter, `{FILTER}`, which every packet matches; {PACKETS} packets. tapline through its \
         library. The counters are read once."
    ));
}
