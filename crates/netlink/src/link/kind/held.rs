//! A value of whatever format, held until it is known what it is to be.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// Such a value.
#[derive(Clone, Debug)]
pub(super) enum Held {
    None,
    Bool(bool),
    Natural(u64),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Held>),
    Fields(Vec<(String, Held)>),
}

/// Why it is not what it was to be, and the way to the field where it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub path: String,
    pub reason: String,
}

impl Wrong {
    /// It, one step further out.
    pub(super) fn within(self, field: &str) -> Self {
        let path = match self.path.as_str() {
            "" => field.to_owned(),
            inner => format!("{field}.{inner}"),
        };
        Self { path, ..self }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self {
            path: String::new(),
            reason: reason.to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for Held {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Holder)
    }
}

/// Takes any value.
struct Holder;

impl<'de> Visitor<'de> for Holder {
    type Value = Held;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Held, E> {
        Ok(Held::None)
    }

    fn visit_none<E>(self) -> Result<Held, E> {
        Ok(Held::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Held, D::Error> {
        Held::deserialize(from)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Held, E> {
        Ok(Held::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Held, E> {
        Ok(Held::Natural(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Held, E> {
        Ok(Held::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Held, E> {
        Ok(Held::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Held, E> {
        Ok(Held::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Held, A::Error> {
        let mut held = Vec::new();
        while let Some(value) = list.next_element()? {
            held.push(value);
        }
        Ok(Held::List(held))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Held, A::Error> {
        let mut held = Vec::new();
        while let Some(field) = fields.next_entry()? {
            held.push(field);
        }
        Ok(Held::Fields(held))
    }
}

/// Fields, one after another; what is wrong with one is told with its name.
struct Fields {
    left: std::vec::IntoIter<(String, Held)>,
    value: Option<(String, Held)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        self.value = self.left.next();
        let key = self
            .value
            .as_ref()
            .map(|(key, _)| StrDeserializer::new(key));
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (key, value) = self.value.take().unwrap_or((String::new(), Held::None));
        seed.deserialize(value).map_err(|wrong| wrong.within(&key))
    }
}

impl IntoDeserializer<'_, Wrong> for Held {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Held {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self {
            Self::None => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Natural(value) => visitor.visit_u64(value),
            Self::Integer(value) => visitor.visit_i64(value),
            Self::Real(value) => visitor.visit_f64(value),
            Self::Text(value) => visitor.visit_string(value),
            Self::List(values) => visitor.visit_seq(SeqDeserializer::new(values.into_iter())),
            Self::Fields(fields) => visitor.visit_map(Fields {
                left: fields.into_iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self {
            Self::None => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self {
            Self::Text(text) => visitor.visit_enum(text.into_deserializer()),
            Self::Fields(fields) => {
                let fields = Fields {
                    left: fields.into_iter(),
                    value: None,
                };
                MapAccessDeserializer::new(fields).deserialize_enum(name, variants, visitor)
            }
            value => value.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
