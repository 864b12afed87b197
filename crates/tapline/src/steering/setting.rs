//! A setting of a device, and its words.

use std::fmt::{self, Write as _};

use netlink::schema::{Arguments, AttributeSet, NameLookup};
use netlink::{
    Channels, Coalescing, FlowRule, FlowType, HashFunction, IfIndex, InvalidRequest, RingSizes,
};

use super::error::SteeringError;

/// Most entries of an indirection table in words; no driver has more.
const TABLE_MAX: usize = 1 << 14;
/// Longest key in words, bytes; no driver has a longer one.
const KEY_MAX: usize = 1 << 10;
/// Longest name of a feature (`ETH_GSTRING_LEN`).
const NAME_MAX: usize = 32;

/// One setting of a device. `Display` writes its words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// Something that the kernel or the driver does with packets is on or off, by the kernel's name.
    Feature {
        /// Its name, e.g. `rx-gro`.
        name: String,
        /// Whether it is on.
        is_on: bool,
    },
    /// Numbers of queues.
    Channels(Channels),
    /// Sizes of rings.
    Rings(RingSizes),
    /// Moderation of interrupts.
    Coalescing(Coalescing),
    /// The hash function of received packets.
    HashFunction(HashFunction),
    /// The key of the hash.
    HashKey(Vec<u8>),
    /// The queues by hash.
    Table(Table),
    /// The fields of packets of a type that the hash covers, letters as in
    /// [`hashed_fields`](netlink::Ethtool::hashed_fields).
    HashedFields(FlowType, String),
    /// A rule for a flow.
    Rule(FlowRule),
}

/// An indirection table: the queue of each value of the low bits of the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Table {
    /// The driver's own, usually over all queues.
    Default,
    /// The first so many queues in turn.
    Equal(u32),
    /// The first queues, each with a share of the hashes.
    Weights(Vec<u32>),
    /// These queues.
    Queues(Vec<u32>),
}

impl Table {
    /// The queues in a table with so many entries; `None` if it is the driver's own. As `ethtool -X` does it.
    pub fn queues(&self, entries: usize) -> Option<Vec<u32>> {
        match self {
            Self::Default => None,
            Self::Equal(queues) => {
                let mut all = (0..(*queues).max(1)).cycle();
                Some((0..entries).filter_map(|_| all.next()).collect())
            }
            Self::Weights(weights) => {
                let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
                let (mut queue, mut partial) = (0, weights.first().map_or(0, |&w| u64::from(w)));
                let queue_of = |entry: usize| {
                    while entry as u64 >= partial * entries as u64 / sum
                        && queue + 1 < weights.len()
                    {
                        queue += 1;
                        partial += u64::from(weights[queue]);
                    }
                    queue as u32
                };
                Some((0..entries).map(queue_of).collect())
            }
            Self::Queues(queues) => Some(queues.clone()),
        }
    }
}

impl Setting {
    /// Reads words, which may be several settings of one kind, e.g. `features rx-gro off rx-lro off`.
    ///
    /// # Errors
    /// [`SteeringError::Words`] says what is wrong.
    pub fn parse(text: &str) -> Result<Vec<Self>, SteeringError> {
        let text = text.trim();
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words: Vec<String> = rest.split_ascii_whitespace().map(str::to_owned).collect();
        if words.is_empty() && KINDS.contains(&kind) {
            return Err(SteeringError::words(format!("'{kind}' needs a setting")));
        }
        Ok(match kind {
            "features" => features(&words)?,
            "channels" => vec![Self::Channels(attributes(&words)?)],
            "rings" => vec![Self::Rings(attributes(&words)?)],
            "coalesce" => vec![Self::Coalescing(attributes(&words)?)],
            "rss" => hash(&words)?,
            "ntuple" => vec![Self::Rule(rest.parse().map_err(
                |InvalidRequest { reason, .. }: InvalidRequest| SteeringError::words(reason),
            )?)],
            _ => {
                let kinds = KINDS.join(", ");
                return Err(SteeringError::words(format!(
                    "{kind:?} is not a setting of a device: use {kinds}"
                )));
            }
        })
    }

    /// Number of its kind in the order in which settings are made: what a later one may depend on comes first.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Feature { .. } => 0,
            Self::Channels(_) => 1,
            Self::Rings(_) => 2,
            Self::Coalescing(_) => 3,
            Self::HashFunction(_) => 4,
            Self::HashKey(_) => 5,
            Self::Table(_) => 6,
            Self::HashedFields(..) => 7,
            Self::Rule(_) => 8,
        }
    }
}

/// The first words of settings.
const KINDS: [&str; 6] = ["channels", "rings", "coalesce", "rss", "ntuple", "features"];

fn features(words: &[String]) -> Result<Vec<Setting>, SteeringError> {
    let setting = |pair: &[String]| match pair {
        [name, state] if is_feature(name) && (state == "on" || state == "off") => {
            Some(Setting::Feature {
                name: name.clone(),
                is_on: state == "on",
            })
        }
        _ => None,
    };
    let all: Option<Vec<_>> = words.chunks(2).map(setting).collect();
    all.ok_or_else(|| {
        SteeringError::words("features are written as NAME on|off, e.g. 'features rx-gro off'")
    })
}

fn is_feature(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..NAME_MAX).contains(&name.len()) && name.chars().all(is_part)
}

/// Fields of a set, with their keywords.
fn attributes<T: AttributeSet>(words: &[String]) -> Result<T, SteeringError> {
    let mut lookup = NoLinks;
    let mut args = Arguments::new(words, &mut lookup);
    let mut set = T::default();
    while let Some(word) = args.next() {
        let known = set.parse_keyword(word, &mut args);
        let is_known = known.map_err(|error| SteeringError::words(error.to_string()))?;
        if !is_known {
            let known = format_fields_of::<T>();
            return Err(SteeringError::words(format!(
                "{word:?} is not a setting: use {known}"
            )));
        }
    }
    Ok(set)
}

/// The keywords of a set.
fn format_fields_of<T: AttributeSet>() -> String {
    let wrong = [String::from("?")];
    let mut lookup = NoLinks;
    let mut args = Arguments::recording(&wrong, &mut lookup);
    let word = args.next();
    // It is no keyword, so that all are compared with it.
    let _ = T::default().parse_keyword(word.unwrap_or_default(), &mut args);
    args.into_offered().join(", ")
}

fn hash(words: &[String]) -> Result<Vec<Setting>, SteeringError> {
    let mut settings = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let missing = || {
            SteeringError::words(
                "rss is written as default, equal N, weight W0 W1 …, table Q0,Q1,…, hkey XX:XX:…, hfunc NAME, \
                 or rx-flow-hash TYPE FIELDS",
            )
        };
        settings.push(match word {
            "default" => Setting::Table(Table::Default),
            "equal" => {
                let queues = words.next().and_then(|text| text.parse().ok());
                Setting::Table(Table::Equal(queues.filter(|&n| n > 0).ok_or_else(missing)?))
            }
            "weight" => {
                let mut weights: Vec<u32> = Vec::new();
                while let Some(weight) = words.peek().and_then(|text| text.parse().ok()) {
                    weights.push(weight);
                    words.next();
                }
                if weights.len() > TABLE_MAX || weights.iter().all(|weight| *weight == 0) {
                    return Err(missing());
                }
                Setting::Table(Table::Weights(weights))
            }
            "table" => {
                let queues = words.next().map(|text| text.split(','));
                let queues = queues.and_then(|parts| {
                    let queues = parts.take(TABLE_MAX + 1).map(|part| part.parse().ok());
                    queues.collect::<Option<Vec<u32>>>()
                });
                let queues = queues.filter(|queues| queues.len() <= TABLE_MAX);
                Setting::Table(Table::Queues(queues.ok_or_else(missing)?))
            }
            "hkey" => {
                let key = words.next().and_then(key).ok_or_else(missing)?;
                Setting::HashKey(key)
            }
            "hfunc" => {
                let function = words.next().and_then(HashFunction::named);
                Setting::HashFunction(function.ok_or_else(|| {
                    SteeringError::words("hash functions are toeplitz, xor and crc32")
                })?)
            }
            "rx-flow-hash" => {
                let flow = words.next().and_then(FlowType::named);
                let fields = words.next().filter(|fields| is_fields(fields));
                let (flow, fields) = flow.zip(fields).ok_or_else(missing)?;
                Setting::HashedFields(flow, in_order(fields))
            }
            _ => return Err(missing()),
        });
    }
    Ok(settings)
}

/// The letters of fields of a hash, in the order in which they are shown.
const LETTERS: &str = "mvtsdfnr";

fn is_fields(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| LETTERS.contains(c))
}

fn in_order(fields: &str) -> String {
    LETTERS.chars().filter(|c| fields.contains(*c)).collect()
}

fn key(text: &str) -> Option<Vec<u8>> {
    let byte = |part: &str| match part.len() {
        1 | 2 => u8::from_str_radix(part, 16).ok(),
        _ => None,
    };
    let key: Option<Vec<u8>> = text.split(':').take(KEY_MAX + 1).map(byte).collect();
    key.filter(|key| key.len() <= KEY_MAX)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature { name, is_on } => {
                write!(f, "features {name} {}", if *is_on { "on" } else { "off" })
            }
            Self::Channels(set) => write!(f, "channels{}", words(set)),
            Self::Rings(set) => write!(f, "rings{}", words(set)),
            Self::Coalescing(set) => write!(f, "coalesce{}", words(set)),
            Self::HashFunction(function) => write!(f, "rss hfunc {}", function.name()),
            Self::HashKey(key) => {
                let key: Vec<_> = key.iter().map(|byte| format!("{byte:02x}")).collect();
                write!(f, "rss hkey {}", key.join(":"))
            }
            Self::Table(table) => write!(f, "rss {table}"),
            Self::HashedFields(flow, fields) => write!(f, "rss rx-flow-hash {flow} {fields}"),
            Self::Rule(rule) => write!(f, "ntuple {rule}"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |numbers: &[u32], by: &str| {
            let parts: Vec<_> = numbers.iter().map(u32::to_string).collect();
            parts.join(by)
        };
        match self {
            Self::Default => f.write_str("default"),
            Self::Equal(queues) => write!(f, "equal {queues}"),
            Self::Weights(weights) => write!(f, "weight {}", join(weights, " ")),
            Self::Queues(queues) => write!(f, "table {}", join(queues, ",")),
        }
    }
}

/// The fields of a set with their keywords, a blank before each.
fn words<T: AttributeSet>(set: &T) -> String {
    let mut text = String::new();
    set.format_fields(&mut NoLinks, &mut |word, value| {
        // Writing to a String cannot fail.
        let _ = write!(text, " {word} {value}");
    });
    text
}

/// These settings name no links.
struct NoLinks;

impl NameLookup for NoLinks {
    fn index(&mut self, _: &str) -> Option<IfIndex> {
        None
    }

    fn name(&mut self, _: IfIndex) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_they_are_read() {
        for text in [
            "channels rx 1 tx 2 combined 4",
            "rings rx 512",
            "coalesce rx-usecs 20 rx-frames 8 adaptive-rx off",
            "rss default",
            "rss equal 3",
            "rss weight 3 0 1",
            "rss table 0,1,7",
            "rss hkey 6d:5a:00",
            "rss hfunc crc32",
            "rss rx-flow-hash udp4 sdfn",
            "ntuple flow-type udp4 dst-port 4789 action 2",
            "features rx-gro off",
        ] {
            let settings = Setting::parse(text).expect(text);
            assert_eq!(settings.len(), 1);
            assert_eq!(settings[0].to_string(), text);
        }
        let several = Setting::parse("rss hfunc toeplitz weight 1 3 hkey 1:2").expect("words");
        assert_eq!(several.len(), 3);
        let fields = Setting::parse("rss rx-flow-hash tcp6 nfds").expect("words");
        assert_eq!(fields[0].to_string(), "rss rx-flow-hash tcp6 sdfn");
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (text, reason) in [
            ("", "\"\" is not a setting of a device: use channels, "),
            ("channels", "'channels' needs a setting"),
            (
                "channels rxx 4",
                "\"rxx\" is not a setting: use rx, tx, other, combined",
            ),
            ("rings rx many", "many"),
            ("rss equal 0", "rss is written as"),
            ("rss weight", "rss is written as"),
            ("rss weight 0 0", "rss is written as"),
            ("rss hkey 1:100", "rss is written as"),
            ("rss hfunc md5", "hash functions are"),
            ("rss rx-flow-hash udp4 xyz", "rss is written as"),
            ("features rx-gro", "features are written as"),
            ("features ../x on", "features are written as"),
            ("ntuple delete 3", "a rule begins with"),
        ] {
            let refused = Setting::parse(text).expect_err(text).to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn weights_divide_the_table_as_ethtool_does() {
        let table = |weights: &[u32], entries| Table::Weights(weights.to_vec()).queues(entries);
        assert_eq!(table(&[3, 1], 8), Some(vec![0, 0, 0, 0, 0, 0, 1, 1]));
        assert_eq!(table(&[0, 1, 0, 1], 8), Some(vec![1, 1, 1, 1, 3, 3, 3, 3]));
        assert_eq!(
            Table::Equal(3).queues(8),
            Some(vec![0, 1, 2, 0, 1, 2, 0, 1])
        );
    }
}
