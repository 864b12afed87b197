use std::fmt;

use serde::{Deserialize, Serialize};

use crate::table::{Lookup, Word};

/// How long something holds, in seconds; the largest number is for ever.
#[doc(alias = "INFINITY_LIFE_TIME")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lifetime(pub u32);

impl Lifetime {
    /// Without end.
    pub const FOREVER: Self = Self(u32::MAX);
}

impl fmt::Display for Lifetime {
    /// `forever`, or seconds: `100sec`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FOREVER => f.pad("forever"),
            Self(seconds) => f.pad(&format!("{seconds}sec")),
        }
    }
}

impl Word for Lifetime {
    /// `forever`, or seconds with or without their unit.
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        match text {
            "forever" => Some(Self::FOREVER),
            _ => text
                .strip_suffix("sec")
                .unwrap_or(text)
                .parse()
                .ok()
                .map(Self),
        }
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}
