//! What makes the struct of a set of attributes, and an enumeration, out of one table each.

/// Makes the struct of a set of attributes and its [`Table`](super::Table).
///
/// ```text
/// attributes! {
///     /// Documentation of the struct.
///     pub struct Vlan {
///         @header {                               fields that do not stand in attributes
///             /// Documentation.
///             #[serde(rename = "ifindex")]        where JSON has another name for it
///             "index" index: IfIndex;
///         }
///         /// Documentation of the field.
///         "protocol" protocol: u16 as Be = IFLA_VLAN_PROTOCOL;
///          word      field     type   code  constant; without a word no command line has it
///     }
/// }
/// ```
///
/// Each field is an `Option`, with a setter of its name for chains.
macro_rules! attributes {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(@header { $(
                $(#[doc = $hdoc:literal])*
                $(#[serde $hserde:tt])?
                $($hword:literal)? $hfield:ident : $htype:ty ;
            )* })?
            $(
                $(#[doc = $doc:literal])*
                $(#[serde $serde:tt])?
                $($word:literal)? $field:ident : $type:ty $(as $code:ty)? = $id:ident ;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $($(
                $(#[doc = $hdoc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                $(#[serde $hserde])?
                pub $hfield: Option<$htype>,
            )*)?
            $(
                $(#[doc = $doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                $(#[serde $serde])?
                #[doc = concat!("\n\n`", stringify!($id), "`.")]
                pub $field: Option<$type>,
            )*
        }

        impl $name {
            /// Nothing is given yet.
            pub fn new() -> Self {
                Self::default()
            }

            $($(
                $(#[doc = $hdoc])*
                #[must_use]
                pub fn $hfield(mut self, $hfield: $htype) -> Self {
                    self.$hfield = Some($hfield);
                    self
                }
            )*)?

            $(
                $(#[doc = $doc])*
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = Some($field);
                    self
                }
            )*
        }

        impl crate::table::Table for $name {
            fn entries() -> &'static [crate::table::Entry] {
                &[$(crate::table::Entry {
                    kind: crate::uapi::$id,
                    constant: stringify!($id),
                    shape: <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>::SHAPE,
                }),*]
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn put(&self, request: &mut crate::codec::Request) {
                $(if let Some(value) = &self.$field {
                    <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>::put(
                        value, crate::uapi::$id, request,
                    );
                })*
            }

            #[inline]
            fn take(
                &mut self,
                attribute: crate::codec::Attribute<'_>,
            ) -> Result<(), crate::codec::Malformed> {
                match attribute.kind {
                    $(crate::uapi::$id => {
                        self.$field = Some(
                            <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                                ::take(attribute)?
                        );
                    })*
                    _ => {}
                }
                Ok(())
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn matches(&self, wanted: &Self) -> bool {
                $($(
                    if wanted.$hfield.is_some() && self.$hfield != wanted.$hfield {
                        return false;
                    }
                )*)?
                $(match (&self.$field, &wanted.$field) {
                    (_, None) => {}
                    (Some(value), Some(wanted)) if
                        <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                            ::matches(value, wanted) => {}
                    _ => return false,
                })*
                true
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn merge(&mut self, change: Self) {
                $($(
                    if change.$hfield.is_some() {
                        self.$hfield = change.$hfield;
                    }
                )*)?
                $(match (&mut self.$field, change.$field) {
                    (_, None) => {}
                    (Some(value), Some(change)) =>
                        <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                            ::merge(value, change),
                    (place, change) => *place = change,
                })*
            }

            #[allow(unused_variables, reason = "a table may be empty")]
            fn restrict(&mut self, to: &Self) {
                $($(
                    if to.$hfield.is_none() {
                        self.$hfield = None;
                    }
                )*)?
                $(match (&mut self.$field, &to.$field) {
                    (Some(value), Some(to)) =>
                        <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                            ::restrict(value, to),
                    (place, None) => *place = None,
                    (None, Some(_)) => {}
                })*
            }

            #[allow(unused_variables, reason = "a table may have no words")]
            fn word(
                &mut self,
                word: &str,
                words: &mut crate::table::Words<'_>,
            ) -> Result<bool, crate::table::BadWord> {
                $($($(
                    if let Some(value) =
                        <$htype as crate::table::Word>::field($hword, word, words)?
                    {
                        self.$hfield = Some(value);
                        return Ok(true);
                    }
                )?)*)?
                $($(
                    if let Some(value) =
                        <$type as crate::table::Word>::field($word, word, words)?
                    {
                        self.$field = Some(value);
                        return Ok(true);
                    }
                )?)*
                Ok(false)
            }

            #[allow(unused_variables, reason = "a table may have no words")]
            fn show(
                &self,
                lookup: &mut dyn crate::table::Lookup,
                show: &mut dyn FnMut(&'static str, String),
            ) {
                $($($(
                    if let Some(value) = &self.$hfield {
                        show($hword, crate::table::Word::write(value, lookup));
                    }
                )?)*)?
                $($(
                    if let Some(value) = &self.$field {
                        show($word, crate::table::Word::write(value, lookup));
                    }
                )?)*
            }
        }
    };
    (@code) => { crate::table::Native };
    (@code $code:ty) => { $code };
}
pub(crate) use attributes;

/// Makes an enumeration of a kernel's numbers with the names that `ip(8)` has for them; a number
/// without a name is kept as `Other`.
///
/// ```text
/// names! {
///     /// Documentation.
///     pub enum MacvlanMode: u32 {
///         /// Documentation.
///         Bridge = 4, "bridge";
///     }
/// }
/// ```
macro_rules! names {
    (
        $(#[$meta:meta])*
        pub enum $name:ident : $number:ty {
            $( $(#[$vmeta:meta])* $variant:ident = $value:expr, $text:literal ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "String", try_from = "String")]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$vmeta])* $variant, )*
            /// A number that this room has no name for.
            Other($number),
        }

        impl From<$number> for $name {
            fn from(number: $number) -> Self {
                match number {
                    $(number if number == $value => Self::$variant,)*
                    other => Self::Other(other),
                }
            }
        }

        impl From<$name> for $number {
            fn from(name: $name) -> Self {
                match name {
                    $($name::$variant => $value,)*
                    $name::Other(number) => number,
                }
            }
        }

        impl std::fmt::Display for $name {
            /// As `ip(8)` writes it.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant => f.pad($text),)*
                    Self::Other(number) => number.fmt(f),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::table::BadWord;

            /// Reads a name or a number.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => match text.parse::<$number>() {
                        Ok(number) => Ok(number.into()),
                        Err(_) => Err(crate::table::BadWord {
                            wanted: stringify!($name).to_owned(),
                            found: Some(text.to_owned()),
                        }),
                    },
                }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = crate::table::BadWord;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl crate::table::Word for $name {
            fn read(text: &str, _: &mut dyn crate::table::Lookup) -> Option<Self> {
                text.parse().ok()
            }

            fn write(&self, _: &mut dyn crate::table::Lookup) -> String {
                self.to_string()
            }
        }

        impl crate::table::Code<$name> for crate::table::Native {
            const SHAPE: crate::table::Shape = crate::table::Shape::Number;

            fn put(value: &$name, kind: u16, request: &mut crate::codec::Request) {
                request.attribute(kind, &<$number>::from(*value).to_ne_bytes());
            }

            fn take(
                attribute: crate::codec::Attribute<'_>,
            ) -> Result<$name, crate::codec::Malformed> {
                attribute.array().map(|bytes| <$number>::from_ne_bytes(bytes).into())
            }

            fn matches(value: &$name, wanted: &$name) -> bool {
                value == wanted
            }

            fn merge(value: &mut $name, change: $name) {
                *value = change;
            }
        }
    };
}
pub(crate) use names;
