use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{Code, Lookup, Native, Shape, Word};

/// Realms, by which traffic is counted and told apart: the source's, 0 for none, and the destination's (`RTA_FLOW`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Realms {
    /// That of where packets come from.
    pub from: u16,
    /// That of where they go.
    pub to: u16,
}

impl Realms {
    /// In the words of `ip route`, which has one word for one and another for two.
    pub(super) fn words(self) -> String {
        match self {
            Self { from: 0, to } => format!("realm {to}"),
            Self { from, to } => format!("realms {from}/{to}"),
        }
    }

    /// As the kernel has them: the source's in the upper half.
    fn number(self) -> u32 {
        u32::from(self.from) << 16 | u32::from(self.to)
    }
}

impl From<u32> for Realms {
    fn from(number: u32) -> Self {
        Self {
            from: (number >> 16) as u16,
            to: number as u16,
        }
    }
}

impl Code<Realms> for Native {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &Realms, kind: u16, request: &mut Request) {
        request.u32(kind, value.number());
    }

    fn take(attribute: Attribute<'_>) -> Result<Realms, Malformed> {
        attribute.u32().map(Realms::from)
    }

    crate::table::whole!(Realms);
}

impl Word for Realms {
    /// The source's before a stroke, and the destination's.
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        let (from, to) = text.split_once('/').unwrap_or(("0", text));
        let (from, to) = (from.parse().ok()?, to.parse().ok()?);
        Some(Self { from, to })
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        match self {
            Self { from: 0, to } => to.to_string(),
            Self { from, to } => format!("{from}/{to}"),
        }
    }
}

/// As `ip(8)` has it in JSON.
#[derive(Serialize, Deserialize)]
struct Shown {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: String,
}

impl Serialize for Realms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let from = (self.from != 0).then(|| self.from.to_string());
        let to = self.to.to_string();
        Shown { from, to }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Realms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Shown { from, to } = Shown::deserialize(deserializer)?;
        let number = |text: &str| text.parse().map_err(serde::de::Error::custom);
        Ok(Self {
            from: from.as_deref().map_or(Ok(0), number)?,
            to: number(&to)?,
        })
    }
}
