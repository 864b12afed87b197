use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{Code, Native, Shape};

/// A time in hundredths of a second; seconds in JSON, as `ip(8)` writes what is left of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Centiseconds(pub u64);

impl Serialize for Centiseconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0 as f64 / 100.0)
    }
}

impl<'de> Deserialize<'de> for Centiseconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        let time = Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)?;
        Ok(Self(((time.as_micros() + 5000) / 10_000) as u64))
    }
}

impl Code<Centiseconds> for Native {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &Centiseconds, kind: u16, request: &mut Request) {
        request.attribute(kind, &value.0.to_ne_bytes());
    }

    fn take(attribute: Attribute<'_>) -> Result<Centiseconds, Malformed> {
        attribute
            .array()
            .map(|bytes| Centiseconds(u64::from_ne_bytes(bytes)))
    }

    fn matches(value: &Centiseconds, wanted: &Centiseconds) -> bool {
        value == wanted
    }

    fn merge(value: &mut Centiseconds, change: Centiseconds) {
        *value = change;
    }
}
