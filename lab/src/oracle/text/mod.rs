//! Random filter expressions in the style that people write.

mod arithmetic;
mod lists;
mod terms;

use filter::{FilterTarget, LinkType};

use super::random::Random;

/// Generates a filter expression for packets of `link` at a target. Most of them compile.
pub fn expression(random: &mut Random, link: LinkType, at: FilterTarget) -> String {
    let mut writer = Writer::new(random, link, at);
    let depth = writer.random.below(4);
    let text = writer.expression(depth);
    if writer.is_wlan() && text.contains("len") {
        // Makes libpcap reserve its scratch words for header offsets first (see DIFFERENCES.md).
        return format!("(ip or not ip) and ({text})");
    }
    text
}

/// What the expression so far implies about the headers that the next term tests.
#[derive(Clone, Copy, Debug)]
struct Headers {
    link: LinkType,
    has_labels: bool,
    is_session: bool,
    tunnels: u32,
    has_chain: bool,
}

struct Writer<'a> {
    random: &'a mut Random,
    at: FilterTarget,
    headers: Headers,
    /// The protocols loaded by the current arithmetic expression.
    loaded: Vec<&'static str>,
}

impl<'a> Writer<'a> {
    fn new(random: &'a mut Random, link: LinkType, at: FilterTarget) -> Self {
        let headers = Headers {
            link,
            has_labels: false,
            is_session: false,
            tunnels: 0,
            has_chain: false,
        };
        Self {
            random,
            at,
            headers,
            loaded: Vec::new(),
        }
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.random.one_in(24) {
                self.list()
            } else {
                self.term()
            };
        }
        match self.random.below(8) {
            0 => {
                let inner = self.expression(depth - 1);
                let not = self.random.word(&["not", "!"]);
                format!("{not} ({inner})")
            }
            1 => {
                let term = self.term();
                format!("not {term}")
            }
            2 | 3 => self.joined(depth, " or "),
            4 => {
                // Without parentheses: both operators have equal precedence and associate to the left.
                let left = self.expression(depth - 1);
                let first = self.random.word(&["and", "or", "&&", "||"]);
                let middle = self.expression(0);
                let second = self.random.word(&["and", "or"]);
                let right = self.expression(0);
                format!("{left} {first} {middle} {second} {right}")
            }
            5 => {
                let list = self.list();
                let other = self.expression(depth - 1);
                let join = self.random.word(&["and", "or", "and not", "or not"]);
                format!("({list}) {join} ({other})")
            }
            _ => self.joined(depth, " and "),
        }
    }

    fn joined(&mut self, depth: u32, join: &str) -> String {
        let count = self.random.between(2, 4);
        let parts: Vec<String> = (0..count)
            .map(|_| format!("({})", self.expression(depth - 1)))
            .collect();
        parts.join(join)
    }

    /// Whether terms on Ethernet addresses may follow.
    fn has_macs(&self) -> bool {
        let link = self.headers.link;
        let is_fit = matches!(
            link,
            LinkType::Ethernet | LinkType::Wlan | LinkType::Radiotap
        );
        is_fit && !self.headers.is_session
    }

    fn is_wlan(&self) -> bool {
        matches!(self.headers.link, LinkType::Wlan | LinkType::Radiotap)
    }
}
