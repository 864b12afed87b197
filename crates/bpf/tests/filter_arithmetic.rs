//! Random arithmetic as XDP and tc programs: the verifier accepts every program, and the kernel's test run agrees with
//! the interpreter, also on truncated packets.

use crate::filters::{Loaded, random};
use tapline_filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        random(&mut self.0) % end
    }

    fn choose<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    /// A number, often a special value.
    fn number(&mut self) -> u64 {
        match self.below(5) {
            0 => self.below(4),
            1 => self.below(0x100),
            2 => 0xffff_ffff - self.below(4),
            3 => 0x8000_0000 + self.below(2),
            _ => self.below(1 << 32),
        }
    }

    fn value(&mut self, depth: u64) -> String {
        if depth == 0 || self.below(6) == 0 {
            return match self.below(6) {
                0 => "len".into(),
                1 => self.number().to_string(),
                _ => self.load(0),
            };
        }
        match self.below(12) {
            0 => format!("-({})", self.value(depth - 1)),
            1 | 2 => self.load(depth - 1),
            3 => {
                let shift = self.choose(&["<<", ">>"]);
                format!("({} {shift} {})", self.value(depth - 1), self.below(32))
            }
            _ => {
                let operator =
                    self.choose(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "+", "-"]);
                let right = match operator {
                    "/" | "%" if self.below(2) == 0 => (1 + self.number()).min(77).to_string(),
                    "<<" | ">>" => format!("({} & 63)", self.value(depth - 1)),
                    _ => self.value(depth - 1),
                };
                format!("({} {operator} {right})", self.value(depth - 1))
            }
        }
    }

    fn load(&mut self, depth: u64) -> String {
        let header = self.choose(&["ether", "ether", "ip", "tcp", "udp", "ip6"]);
        let size = self.choose(&["1", "2", "4"]);
        let offset = match self.below(4) {
            0 if depth > 0 => format!("{} & 0x3f", self.value(depth - 1)),
            1 if depth > 0 => self.value(depth - 1),
            2 if self.below(20) == 0 => self.number().to_string(),
            _ => self.below(40).to_string(),
        };
        format!("{header}[{offset}:{size}]")
    }

    fn condition(&mut self, depth: u64) -> String {
        if depth > 0 && self.below(2) == 0 {
            let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.below(3) {
                0 => format!("({left} and {right})"),
                1 => format!("({left} or {right})"),
                _ => format!("not ({left} and {right})"),
            };
        }
        let relation = self.choose(&["=", "!=", ">", "<", ">=", "<="]);
        let (left, right) = (self.below(5), self.below(3));
        format!("{} {relation} {}", self.value(left), self.value(right))
    }
}

/// A TCP segment or UDP datagram over IPv4 or IPv6, or random bytes.
fn packet(random: &mut Random) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..80).map(|_| random.below(256) as u8).collect();
    match random.below(5) {
        0 => packet[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]),
        1 => {}
        _ => {
            packet[12..15].copy_from_slice(&[8, 0, 0x45 + random.below(3) as u8]);
            packet[20..22].fill(0);
        }
    }
    for protocol in [20, 23] {
        packet[protocol] = [6, 17][random.below(2) as usize];
    }
    packet
}

#[test]
fn random_arithmetic_gives_what_the_interpreter_gives() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let packets: Vec<Vec<u8>> = (0..12).map(|_| packet(&mut random)).collect();
    let (mut filters, mut accepted, mut runs) = (0, 0, 0);
    while filters < 1500 {
        let depth = random.below(4);
        let expression = random.condition(depth);
        for at in [FilterTarget::Xdp, FilterTarget::TcIngress] {
            let mut options = FilterOptions::new(LinkType::Ethernet);
            options.target = at;
            // Some divide by a constant that comes out as 0, or refuse all packets.
            let Ok(filter) = Filter::new(&expression, &options, &NoNames) else {
                continue;
            };
            let loaded = Loaded::new(filter);
            filters += 1;
            for packet in &packets {
                let lengths = [80, 54, 20 + random.below(60) as usize];
                accepted += loaded.assert_alike(&expression, packet, &lengths);
                runs += lengths.len();
            }
        }
    }
    println!("{filters} filters, {runs} runs, {accepted} accepted");
    assert!(
        accepted > runs / 10 && accepted < runs * 9 / 10,
        "{accepted} of {runs}"
    );
}

#[test]
fn arithmetic_that_needs_the_stack() {
    // Balanced and lopsided trees of loads, deeper than there are registers.
    let mut seed = 3;
    let mut leaf = || format!("ether[{}]", random(&mut seed) % 40);
    let mut level: Vec<String> = (0..256).map(|_| leaf()).collect();
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs
            .map(|pair| format!("({} - {})", pair[0], pair[1]))
            .collect();
    }
    let mut right = leaf();
    for _ in 0..60 {
        right = format!("({} - {right})", leaf());
    }
    let packets: Vec<Vec<u8>> = {
        let mut random = Random(seed);
        (0..20).map(|_| packet(&mut random)).collect()
    };
    for value in [&level[0], &right] {
        for at in [FilterTarget::Xdp, FilterTarget::TcIngress] {
            let loaded = Loaded::of(&format!("{value} > 0x7fffffff"), at);
            for packet in &packets {
                loaded.assert_alike(value, packet, &[80, 40]);
            }
        }
    }
}
