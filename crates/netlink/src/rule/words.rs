//! Parses the arguments of `ip rule` and formats rules like it.

use super::{Rule, RuleAction};
use crate::prefix::{Family, Prefix};
use crate::route::{Detail, RouteProtocol};
use crate::schema::{Arguments, AttributeSet, InvalidValue, NameLookup, push};

impl Rule {
    /// Parses `[not] [from NETWORK] … [lookup TABLE]`, the arguments of `ip rule add`. The default family is `family`.
    ///
    /// # Errors
    /// [`InvalidValue`] with the first invalid argument.
    pub fn read_words(
        words: &mut Arguments<'_>,
        family: Option<Family>,
    ) -> Result<Self, InvalidValue> {
        let mut rule = Self {
            family,
            ..Self::new()
        };
        words.parse_while(|word, words| rule.read_word(word, words))?;
        match words.next() {
            None => Ok(rule),
            Some(word) => Err(InvalidValue::new("a word of ip rule", Some(word))),
        }
    }

    fn read_word(&mut self, word: &str, words: &mut Arguments<'_>) -> Result<bool, InvalidValue> {
        match word {
            "not" => self.not = Some(true),
            "from" => self.src = read_network(word, words)?,
            "to" => self.dst = read_network(word, words)?,
            "lookup" => self.table = Some(words.value(word)?),
            "preference" | "pref" | "order" => self.priority = Some(words.value(word)?),
            _ if word.len() > 3
                && ["priority", "preference"]
                    .iter()
                    .any(|it| it.starts_with(word)) =>
            {
                self.priority = Some(words.value("priority")?);
            }
            "dsfield" => self.tos = Some(words.value(word)?),
            "dev" => self.iif = Some(words.value(word)?),
            "proto" => self.protocol = Some(words.value(word)?),
            "l3mdev" => self.l3mdev = Some(true),
            "fwmark" => self.read_mark(words)?,
            "ipproto" => self.ipproto = Some(read_protocol(words)?),
            "realms" | "flow" => self.flow = Some(read_realms(words)?),
            "type" => self.action = read_type(words)?,
            "nop" | "blackhole" | "unreachable" | "prohibit" => {
                self.action = word.parse().ok();
            }
            _ => return self.parse_keyword(word, words),
        }
        Ok(true)
    }

    /// Parses `MARK[/MASK]`.
    fn read_mark(&mut self, words: &mut Arguments<'_>) -> Result<(), InvalidValue> {
        let text: String = words.value("fwmark")?;
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let (mark, mask) = match text.split_once('/') {
            Some((mark, mask)) => (number(mark), number(mask).map(Some)),
            None => (number(&text), Some(None)),
        };
        let (Some(mark), Some(mask)) = (mark, mask) else {
            return Err(InvalidValue::new("fwmark", Some(&text)));
        };
        self.fwmark = Some(mark);
        self.fwmask = mask;
        Ok(())
    }

    /// The line of `ip rule show`.
    pub fn line(&self, detail: Detail, _: &mut dyn NameLookup) -> String {
        format!(
            "{}:\t{}",
            self.priority.unwrap_or_default(),
            self.words(detail)
        )
    }

    /// The line without the priority.
    pub(super) fn words(&self, detail: Detail) -> String {
        let mut line = String::new();
        let mut put = |word: &str, value: Option<String>| {
            if let Some(value) = value {
                push(&mut line, format_args!("{word} {value} "));
            }
        };
        let network = |prefix: Prefix| prefix.to_string();
        let from = self.src.map_or("all".to_owned(), network);
        let not = if self.not == Some(true) {
            "not from"
        } else {
            "from"
        };
        put(not, Some(from));
        put("to", self.dst.map(network));
        put("tos", self.tos.map(|tos| format!("{tos:#04x}")));
        let mask = self.fwmask.filter(|mask| *mask != u32::MAX);
        let mark = self.fwmark.map(|mark| match mask {
            Some(mask) => format!("{mark:#x}/{mask:#x}"),
            None => format!("{mark:#x}"),
        });
        put("fwmark", mark);
        let detached = |name: String, gone: Option<bool>| match gone {
            Some(true) => name + " [detached]",
            _ => name,
        };
        put(
            "iif",
            self.iif
                .map(|name| detached(name.to_string(), self.iif_detached)),
        );
        put(
            "oif",
            self.oif
                .map(|name| detached(name.to_string(), self.oif_detached)),
        );
        let uids = self
            .uidrange
            .map(|uids| format!("{}-{}", uids.first, uids.last));
        put("uidrange", uids);
        put("ipproto", self.ipproto.map(Self::protocol_name));
        put("sport", self.sport.map(|ports| ports.to_string()));
        put("dport", self.dport.map(|ports| ports.to_string()));
        put("tun_id", self.tun_id.map(|id| id.to_string()));
        line += &self.action_text();
        let protocol = self.protocol.filter(|it| {
            detail == Detail::All || !matches!(it, RouteProtocol::Unspec | RouteProtocol::Kernel)
        });
        if let Some(protocol) = protocol {
            push(&mut line, format_args!(" proto {protocol}"));
        }
        line
    }

    fn action_text(&self) -> String {
        let mut text = match (self.table, self.action) {
            _ if self.l3mdev == Some(true) => "lookup [l3mdev-table]".to_owned(),
            (Some(table), _) => format!("lookup {table}"),
            (None, Some(RuleAction::Goto)) => match self.goto {
                Some(goto) if self.unresolved == Some(true) => format!("goto {goto} [unresolved]"),
                Some(goto) => format!("goto {goto}"),
                None => "goto none".to_owned(),
            },
            (None, Some(action)) => action.to_string(),
            (None, None) => String::new(),
        };
        if let Some(bits) = self.suppress_prefixlen {
            push(&mut text, format_args!(" suppress_prefixlength {bits}"));
        }
        if let Some(group) = self.suppress_ifgroup {
            push(&mut text, format_args!(" suppress_ifgroup {group}"));
        }
        match self.realms() {
            Some((0, to)) => push(&mut text, format_args!(" realms {to}")),
            Some((from, to)) => push(&mut text, format_args!(" realms {from}/{to}")),
            None => {}
        }
        text
    }
}

/// `all` is no condition.
fn read_network(word: &str, words: &mut Arguments<'_>) -> Result<Option<Prefix>, InvalidValue> {
    let prefix: Prefix = words.value(word)?;
    Ok((!prefix.is_everything()).then_some(prefix))
}

/// Protocols above IP by the names of protocols(5).
const PROTOCOLS: [(u8, &str); 16] = [
    (1, "icmp"),
    (2, "igmp"),
    (4, "ipencap"),
    (6, "tcp"),
    (17, "udp"),
    (33, "dccp"),
    (41, "ipv6"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (58, "ipv6-icmp"),
    (89, "ospf"),
    (103, "pim"),
    (112, "vrrp"),
    (132, "sctp"),
    (136, "udplite"),
];

/// Parses `[SOURCE/]DESTINATION` realms.
fn read_realms(words: &mut Arguments<'_>) -> Result<u32, InvalidValue> {
    let text: String = words.value("realms")?;
    let (from, to) = text.split_once('/').unwrap_or(("0", &text));
    match (from.parse::<u16>(), to.parse::<u16>()) {
        (Ok(from), Ok(to)) => Ok(u32::from(from) << 16 | u32::from(to)),
        _ => Err(InvalidValue::new("realms", Some(&text))),
    }
}

fn read_protocol(words: &mut Arguments<'_>) -> Result<u8, InvalidValue> {
    let named = words.peek().and_then(|word| {
        let found = PROTOCOLS.iter().find(|(_, name)| *name == word);
        found.map(|(number, _)| *number)
    });
    match named {
        Some(number) => {
            words.next();
            Ok(number)
        }
        None => words.value("ipproto"),
    }
}

impl Rule {
    /// The name of an IP protocol; `ipproto-NUMBER` if it has none, as in `ip rule`.
    pub fn protocol_name(number: u8) -> String {
        let found = PROTOCOLS.iter().find(|(known, _)| *known == number);
        found.map_or_else(
            || format!("ipproto-{number}"),
            |(_, name)| (*name).to_owned(),
        )
    }

    /// Its realms: source (0 is none) and destination.
    pub fn realms(&self) -> Option<(u16, u16)> {
        self.flow.map(|flow| ((flow >> 16) as u16, flow as u16))
    }
}

/// Parses an action given as a route type; unicast is a table lookup.
fn read_type(words: &mut Arguments<'_>) -> Result<Option<RuleAction>, InvalidValue> {
    let name: String = words.value("type")?;
    match name.as_str() {
        "unicast" => Ok(None),
        "blackhole" | "unreachable" | "prohibit" => Ok(name.parse().ok()),
        _ => Err(InvalidValue::new(
            "unicast, blackhole, unreachable or prohibit",
            Some(&name),
        )),
    }
}
