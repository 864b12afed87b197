use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{Code, Entry, Native, Shape};
use crate::uapi::{MDBA_MDB_SRCATTR_ADDRESS, MDBA_MDB_SRCATTR_TIMER, MDBA_MDB_SRCLIST_ENTRY};

/// Hundredths of a second until something ends; 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timer(pub u32);

impl fmt::Display for Timer {
    /// As `bridge(8)`: `  12.34`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:4}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl From<Timer> for String {
    fn from(timer: Timer) -> Self {
        timer.to_string()
    }
}

impl TryFrom<String> for Timer {
    type Error = crate::table::BadWord;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let read = || {
            let (seconds, hundredths) = text.trim().split_once('.')?;
            let seconds: u32 = seconds.parse().ok()?;
            let hundredths: u32 = hundredths.parse().ok().filter(|rest| *rest < 100)?;
            seconds.checked_mul(100)?.checked_add(hundredths).map(Self)
        };
        read().ok_or_else(|| crate::table::BadWord {
            wanted: "timer".to_owned(),
            found: Some(text.clone()),
        })
    }
}

impl Code<Timer> for Native {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &Timer, kind: u16, request: &mut Request) {
        request.u32(kind, value.0);
    }

    fn take(attribute: Attribute<'_>) -> Result<Timer, Malformed> {
        attribute.u32().map(Timer)
    }

    fn matches(value: &Timer, wanted: &Timer) -> bool {
        value == wanted
    }

    fn merge(value: &mut Timer, change: Timer) {
        *value = change;
    }
}

/// A sender to a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MdbSource {
    /// Its address.
    pub address: IpAddr,
    /// Until it is forgotten. Told only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
}

impl From<IpAddr> for MdbSource {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            timer: None,
        }
    }
}

/// A list of senders, an attribute each.
#[derive(Clone, Copy, Debug)]
pub struct Sources;

const ENTRIES: &[Entry] = &[
    Entry {
        kind: MDBA_MDB_SRCATTR_ADDRESS,
        constant: "MDBA_MDB_SRCATTR_ADDRESS",
        shape: Shape::Ip,
    },
    Entry {
        kind: MDBA_MDB_SRCATTR_TIMER,
        constant: "MDBA_MDB_SRCATTR_TIMER",
        shape: Shape::Number,
    },
];

impl Code<Vec<MdbSource>> for Sources {
    const SHAPE: Shape = Shape::List(&Shape::Nest {
        skip: 0,
        entries: || ENTRIES,
    });

    /// The types of a list that is said (`MDBE_SRC_LIST_ENTRY`, `MDBE_SRCATTR_ADDRESS`; both 1) are those of
    /// one that is told.
    fn put(value: &Vec<MdbSource>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for source in value {
                request.nested(MDBA_MDB_SRCLIST_ENTRY, &[], |request| {
                    Native::put(&source.address, MDBA_MDB_SRCATTR_ADDRESS, request);
                });
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<MdbSource>, Malformed> {
        let mut sources = Vec::new();
        for source in attribute.attributes() {
            let (mut address, mut timer) = (None, None);
            for part in source?.attributes() {
                let part = part?;
                match part.kind {
                    MDBA_MDB_SRCATTR_ADDRESS => address = Some(Native::take(part)?),
                    MDBA_MDB_SRCATTR_TIMER => timer = Some(Timer(part.u32()?)),
                    _ => {}
                }
            }
            sources.extend(address.map(|address| MdbSource { address, timer }));
        }
        Ok(sources)
    }

    /// The same senders, whenever they are forgotten and in whatever order.
    fn matches(value: &Vec<MdbSource>, wanted: &Vec<MdbSource>) -> bool {
        let has = |wanted: &MdbSource| value.iter().any(|told| told.address == wanted.address);
        value.len() == wanted.len() && wanted.iter().all(has)
    }

    fn merge(value: &mut Vec<MdbSource>, change: Vec<MdbSource>) {
        *value = change;
    }
}
