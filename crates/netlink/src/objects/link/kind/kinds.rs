//! Kinds of links and of their masters: enumerations with a variant for each known kind.

use serde::de::{DeserializeOwned, Error};
use serde_json::Value;

use crate::error::InvalidRequest;
use crate::schema::{Arguments, Flatten, Parsed};

/// The settings of a kind: an attribute set with special behaviour.
pub(crate) trait KindSettings: Flatten {
    /// Whether the kernel resets settings that a change omits, so that a change must contain all.
    fn resets_omitted_fields(&self) -> bool {
        false
    }

    /// Adds the settings that follow from others.
    fn complete(&mut self) {}

    /// Removes values that the kernel reports although they are unset.
    fn remove_unset(&mut self) {}

    /// An attribute with an impossible value, below `linkinfo.data`. Used when the kernel rejects the request without
    /// naming an attribute.
    fn suspect_attribute(&self) -> Option<&'static str> {
        None
    }

    /// Checks the settings of a new link.
    ///
    /// # Errors
    /// [`InvalidRequest`] with the reason why the kernel could not create it.
    fn check_new(&self) -> Result<(), InvalidRequest> {
        Ok(())
    }

    /// As [`Flatten::parse_keyword`], for keywords that set more than one field.
    ///
    /// # Errors
    /// As [`Flatten::parse_keyword`].
    fn parse_special_keyword(&mut self, _keyword: &str, _args: &mut Arguments<'_>) -> Parsed<bool> {
        Ok(false)
    }
}

/// Generates an enumeration of kinds with their settings.
///
/// ```text
/// kinds! {
///     /// Documentation.
///     pub enum LinkKind: info_kind, "info_kind", "info_data" {   the keys in JSON
///         /// Documentation.
///         Vlan(Vlan) = "vlan";
///         /// Documentation.
///         Macvtap(Macvlan) = "macvtap", shared;                  another kind has the same settings
///         @plain {
///             /// Documentation.
///             Dummy = "dummy";                                   has no settings
///         }
///     }
/// }
/// ```
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident: $key:ident, $kind_key:literal, $data_key:literal {
            $( $(#[$vmeta:meta])* $variant:ident ( $type:ty ) = $name:literal $(, $shared:ident)?; )*
            $(@plain { $( $(#[$pmeta:meta])* $plain:ident = $plain_name:literal; )* })?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
        #[serde(tag = $kind_key, content = $data_key)]
        #[non_exhaustive]
        pub enum $enum {
            $( $(#[$vmeta])* #[serde(rename = $name)] $variant($type), )*
            $($( $(#[$pmeta])* #[serde(rename = $plain_name)] $plain, )*)?
            /// Another kind.
            #[serde(untagged)]
            Other {
                /// Its name.
                $key: String,
            },
        }

        impl $enum {
            /// The kind called `name`, without settings.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$variant(Default::default()),)*
                    $($($plain_name => Self::$plain,)*)?
                    _ => Self::Other { $key: name.to_owned() },
                }
            }

            /// Its name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    $($(Self::$plain => $plain_name,)*)?
                    Self::Other { $key } => $key,
                }
            }

            /// The attributes of the settings of the kind called `name`.
            fn specs(name: &[u8]) -> &'static [crate::schema::AttributeSpec] {
                match name {
                    $(name if name == $name.as_bytes() => <$type as crate::schema::AttributeSet>::specs(),)*
                    _ => &[],
                }
            }

            /// Its settings, if it has any.
            pub(crate) fn settings(&self) -> Option<&dyn crate::objects::link::kind::KindSettings> {
                match self {
                    $(Self::$variant(data) => Some(data),)*
                    _ => None,
                }
            }

            /// The settings of all kinds: a field for each type, called like the type.
            pub(in crate::objects::link) fn settings_fields(fields: &mut Vec<crate::schema::FieldShape>) {
                $(crate::objects::link::kind::kinds!(@field fields, $type $(, $shared)?);)*
            }

            /// Appends its settings.
            pub(in crate::objects::link) fn put_settings(&self, out: &mut crate::schema::FieldWriter<'_>) {
                match self {
                    $(Self::$variant(data) if *data != Default::default() => {
                        out.field(
                            const { crate::schema::field_id(<$type as crate::schema::FieldSet>::NAME) },
                            data,
                        );
                    })*
                    _ => {}
                }
            }

            /// Decodes settings. Without a kind, they determine it. Returns false if `id` is not the id of settings.
            pub(in crate::objects::link) fn take_settings(
                kind: &mut Option<Self>,
                id: u32,
                bytes: &[u8],
                reader: &mut crate::schema::FieldReader<'_>,
            ) -> Result<bool, crate::schema::InvalidField> {
                use crate::schema::{FieldSet, FieldValue, InvalidField, field_id};

                let mut other = None;
                $(if id == const { field_id(<$type as FieldSet>::NAME) } {
                    if matches!(kind, None | Some(Self::$variant(_))) {
                        let data: Result<$type, _> = FieldValue::take(bytes, reader);
                        let data = data.map_err(|error| error.within(<$type as FieldSet>::NAME))?;
                        *kind = Some(Self::$variant(data));
                        return Ok(true);
                    }
                    other = Some(<$type as FieldSet>::NAME);
                })*
                match (other, kind) {
                    (Some(settings), Some(kind)) => Err(InvalidField::new(format!(
                        "a link of type {} has no settings {settings}",
                        kind.name()
                    ))),
                    _ => Ok(false),
                }
            }

            fn settings_mut(&mut self) -> Option<&mut dyn crate::objects::link::kind::KindSettings> {
                match self {
                    $(Self::$variant(data) => Some(data),)*
                    _ => None,
                }
            }

            /// Decodes its settings.
            fn decode_settings(
                &mut self,
                attribute: crate::codec::Attribute<'_>,
            ) -> Result<(), crate::codec::Malformed> {
                match self {
                    $(Self::$variant(data) => {
                        *data = <crate::schema::Nested as crate::schema::AttributeCodec<_>>::decode(attribute)?;
                    })*
                    _ => {}
                }
                self.settings_mut().into_iter().for_each(|settings| settings.remove_unset());
                Ok(())
            }

            /// Parses the setting with this keyword, as [`Flatten::parse_keyword`](crate::schema::Flatten::parse_keyword).
            ///
            /// # Errors
            /// [`InvalidValue`](crate::schema::InvalidValue) if the value is missing or invalid.
            pub fn parse_keyword(
                &mut self,
                keyword: &str,
                args: &mut crate::schema::Arguments<'_>,
            ) -> crate::schema::Parsed<bool> {
                let Some(settings) = self.settings_mut() else {
                    return Ok(false);
                };
                Ok(settings.parse_special_keyword(keyword, args)? || settings.parse_keyword(keyword, args)?)
            }

            /// Calls `visit` with the keyword and the formatted value of each setting.
            pub fn format_fields(
                &self,
                lookup: &mut dyn crate::schema::NameLookup,
                visit: &mut crate::schema::FieldVisitor<'_>,
            ) {
                if let Some(settings) = self.settings() {
                    settings.format_fields(lookup, visit);
                }
            }

            /// Deserializes a flattened kind; `None` if there is none.
            fn deserialize_if_given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Self>, D::Error> {
                #[derive(Default, serde::Deserialize)]
                #[serde(default)]
                struct Parts {
                    #[serde(rename = $kind_key)]
                    kind: Option<String>,
                    #[serde(rename = $data_key)]
                    data: Option<serde_json::Value>,
                }

                let parts = <Parts as serde::Deserialize>::deserialize(from)?;
                let Some(kind) = parts.kind else {
                    return Ok(None);
                };
                Ok(Some(match (kind.as_str(), parts.data) {
                    $(($name, Some(data)) => {
                        Self::$variant(crate::objects::link::kind::deserialize_settings($data_key, &data)?)
                    })*
                    _ => Self::named(&kind),
                }))
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let kind = Self::deserialize_if_given(from)?;
                kind.ok_or_else(|| serde::de::Error::missing_field($kind_key))
            }
        }

        /// The name in the attribute, the settings in the one after it.
        impl crate::schema::AttributeCodec<$enum> for KindCodec {
            const TYPE: crate::schema::AttributeType = crate::schema::AttributeType::Text;

            fn encode(value: &$enum, kind: u16, request: &mut crate::codec::Request) {
                request.text(kind, value.name().as_bytes());
                match value {
                    $($enum::$variant(data) if *data != Default::default() => {
                        let mut data = data.clone();
                        crate::objects::link::kind::KindSettings::complete(&mut data);
                        <crate::schema::Nested as crate::schema::AttributeCodec<_>>::encode(&data, kind + 1, request);
                    })*
                    _ => {}
                }
            }

            fn decode(attribute: crate::codec::Attribute<'_>) -> Result<$enum, crate::codec::Malformed> {
                Ok($enum::named(&attribute.text()))
            }

            fn matches(value: &$enum, wanted: &$enum) -> bool {
                match (value, wanted) {
                    $(($enum::$variant(data), $enum::$variant(wanted)) => data.fields_match(wanted),)*
                    _ => value == wanted,
                }
            }

            fn merge(value: &mut $enum, change: $enum) {
                match (value, change) {
                    $(($enum::$variant(data), $enum::$variant(change)) => data.merge(change),)*
                    (place, change) => *place = change,
                }
            }

            fn retain(value: &mut $enum, other: &$enum) {
                match (value, other) {
                    $(($enum::$variant(data), $enum::$variant(other)) => data.retain_fields(other),)*
                    _ => {}
                }
            }

            fn reported_field(value: &$enum) -> Option<String> {
                let field = match value {
                    $($enum::$variant(data) => data.reported_field(),)*
                    _ => None,
                };
                field.map(|field| format!("{}.{field}", $data_key))
            }

            fn remove_reported(value: &mut $enum) {
                match value {
                    $($enum::$variant(data) => data.remove_reported(),)*
                    _ => {}
                }
            }
        }

        $(crate::objects::link::kind::kinds!(@from $enum, $variant, $type $(, $shared)?);)*
    };
    (@from $enum:ident, $variant:ident, $type:ty) => {
        impl From<$type> for $enum {
            fn from(data: $type) -> Self {
                Self::$variant(data)
            }
        }
    };
    (@from $enum:ident, $variant:ident, $type:ty, shared) => {};
    (@field $fields:ident, $type:ty) => {
        $fields.push(crate::schema::FieldShape::of::<$type>(
            <$type as crate::schema::FieldSet>::NAME,
            <$type as crate::schema::FieldSet>::DOC,
        ));
    };
    (@field $fields:ident, $type:ty, shared) => {};
}
pub(crate) use kinds;

/// Deserializes the settings of a kind. The message of an error begins with the path of the invalid field, below
/// `key`.
pub(crate) fn deserialize_settings<T: DeserializeOwned, E: Error>(
    key: &str,
    data: &Value,
) -> Result<T, E> {
    T::deserialize(data).map_err(|error| {
        let path = invalid_field(data, &|value| T::deserialize(value).is_err());
        E::custom(format!("{key}{path}: {error}"))
    })
}

/// The path of the first field of `value` that `is_invalid`; empty if no field alone is.
fn invalid_field(value: &Value, is_invalid: &dyn Fn(Value) -> bool) -> String {
    let alone = |name: &str, field| Value::Object([(name.to_owned(), field)].into_iter().collect());
    let Value::Object(fields) = value else {
        return String::new();
    };
    // A field that is required cannot be alone.
    if is_invalid(Value::Object(serde_json::Map::new())) {
        return String::new();
    }
    let mut fields = fields.iter();
    match fields.find(|(name, field)| is_invalid(alone(name, (*field).clone()))) {
        Some((name, field)) => {
            let rest = invalid_field(field, &|inner| is_invalid(alone(name, inner)));
            format!(".{name}{rest}")
        }
        None => String::new(),
    }
}
