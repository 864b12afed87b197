//! Generates arithmetic terms.

use super::Writer;
use crate::oracle::pool;
use filter::LinkType;

const OPERATORS: [&str; 10] = ["+", "-", "*", "/", "&", "|", "^", "%", "<<", ">>"];
const RELATIONS: [&str; 7] = ["=", "==", "!=", "<", "<=", ">", ">="];
const LOADS: [&str; 12] = [
    "ip", "ip6", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "arp", "ether", "pim", "vrrp",
];
const NAMED: [&str; 8] = [
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[tcpflags] == tcp-syn|tcp-ack",
    "icmp[icmptype] = icmp-echo",
    "icmp6[icmp6type] == icmp6-echo",
    "ip[6:2] & 0x1fff != 0",
    "(ip[0] & 0xf) << 2 != 20",
    "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
    "udp[4:2] - 8 > udp[8]",
];

impl Writer<'_> {
    pub(super) fn relation(&mut self) -> String {
        if self.random.one_in(6) && !self.headers.has_labels {
            return self.random.word(&NAMED).into();
        }
        if self.random.one_in(8) {
            let index = self.random.below(48);
            let operator = self.random.word(&["=", "<", ">", "&", "|"]);
            return format!("byte {index} {operator} {}", self.random.below(256));
        }
        self.loaded.clear();
        let relation = self.random.word(&RELATIONS);
        let depth = self.random.below(3);
        let left = self.arithmetic(depth);
        let depth = self.random.below(2);
        let right = self.arithmetic(depth);
        // libpcap loses the protocol tests of some loads (see DIFFERENCES.md), so they are repeated explicitly.
        let mut said: Vec<String> = Vec::new();
        for protocol in &self.loaded {
            let guard = format!("{protocol}[0] >= 0");
            if !said.contains(&guard) {
                said.push(guard);
            }
        }
        said.push(format!("{left} {relation} {right}"));
        match said.len() {
            1 => said.remove(0),
            _ => format!("({})", said.join(" and ")),
        }
    }

    fn arithmetic(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(8) {
                0 => "len".into(),
                1 | 2 => pool::number(self.random).to_string(),
                _ => {
                    let index = self.random.below(44).to_string();
                    self.load(&index)
                }
            };
        }
        let left = self.arithmetic(depth - 1);
        match self.random.below(8) {
            0 => {
                let index = self.arithmetic(depth - 1);
                self.load(&index)
            }
            1 => format!("-({left})"),
            2 => {
                // Small indices computed from the packet are the useful ones.
                let mask = self.random.word(&["& 15", "& 0xf) << 2", ">> 4", "% 9"]);
                let open = if mask.contains(')') { "(" } else { "" };
                self.load(&format!("{open}{left} {mask}"))
            }
            3 | 4 => {
                let operator = self.random.word(&OPERATORS);
                let most = if operator.len() == 2 { 31 } else { 64 };
                let constant = self.random.between(1, most);
                format!("({left} {operator} {constant})")
            }
            _ => {
                let operator = self.random.word(&OPERATORS);
                let right = self.arithmetic(depth - 1);
                format!("({left} {operator} {right})")
            }
        }
    }

    fn load(&mut self, index: &str) -> String {
        let protocol = if self.headers.link == LinkType::Radiotap && self.random.one_in(4) {
            "radio"
        } else {
            self.random.word(&LOADS)
        };
        self.loaded.push(protocol);
        let size = self.random.word(&["", "", ":1", ":2", ":4"]);
        format!("{protocol}[{index}{size}]")
    }
}
