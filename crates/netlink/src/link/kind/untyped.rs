//! A deserialized value of any type, kept until its type is known.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// A value of any type.
#[derive(Clone, Debug)]
pub(super) enum UntypedValue {
    None,
    Bool(bool),
    Natural(u64),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<UntypedValue>),
    Fields(Vec<(String, UntypedValue)>),
}

/// Why a value does not fit its type, and the path of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueError {
    pub path: String,
    pub reason: String,
}

impl ValueError {
    /// Prepends a field to the path.
    pub(super) fn within(self, field: &str) -> Self {
        let path = match self.path.as_str() {
            "" => field.to_owned(),
            inner => format!("{field}.{inner}"),
        };
        Self { path, ..self }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for ValueError {}

impl serde::de::Error for ValueError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self {
            path: String::new(),
            reason: reason.to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for UntypedValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UntypedVisitor)
    }
}

/// Visits any value.
struct UntypedVisitor;

impl<'de> Visitor<'de> for UntypedVisitor {
    type Value = UntypedValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<UntypedValue, E> {
        Ok(UntypedValue::None)
    }

    fn visit_none<E>(self) -> Result<UntypedValue, E> {
        Ok(UntypedValue::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<UntypedValue, D::Error> {
        UntypedValue::deserialize(from)
    }

    fn visit_bool<E>(self, value: bool) -> Result<UntypedValue, E> {
        Ok(UntypedValue::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<UntypedValue, E> {
        Ok(UntypedValue::Natural(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<UntypedValue, E> {
        Ok(UntypedValue::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<UntypedValue, E> {
        Ok(UntypedValue::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<UntypedValue, E> {
        Ok(UntypedValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<UntypedValue, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(UntypedValue::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<UntypedValue, A::Error> {
        let mut values = Vec::new();
        while let Some(field) = fields.next_entry()? {
            values.push(field);
        }
        Ok(UntypedValue::Fields(values))
    }
}

/// Iterates over fields and adds the name of the field to errors.
struct Fields {
    left: std::vec::IntoIter<(String, UntypedValue)>,
    value: Option<(String, UntypedValue)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.value = self.left.next();
        let key = self
            .value
            .as_ref()
            .map(|(key, _)| StrDeserializer::new(key));
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ValueError> {
        let (key, value) = self
            .value
            .take()
            .unwrap_or((String::new(), UntypedValue::None));
        seed.deserialize(value).map_err(|error| error.within(&key))
    }
}

impl IntoDeserializer<'_, ValueError> for UntypedValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for UntypedValue {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
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

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::None => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
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
