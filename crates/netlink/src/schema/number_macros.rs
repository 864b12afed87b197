//! The macros that generate numbers with named values, flags and switches.

/// A number in a table, which may be one of the kernel's headers.
macro_rules! number {
    ($value:tt as $type:ty) => {{
        #[allow(
            unused_imports,
            clippy::wildcard_imports,
            reason = "the name may be a number of any header"
        )]
        use crate::uapi::*;
        $value as $type
    }};
}
pub(crate) use number;

/// Generates an enumeration of a kernel number whose values have names, those of `ip(8)`. A number without
/// a name is kept as `Other`.
///
/// ```text
/// number_enum! {
///     /// Documentation.
///     pub enum MacvlanMode: u32 {
///         /// Documentation.
///         Bridge = 4, "bridge";
///     }
/// }
/// ```
///
/// With `, bare` after the type, a name alone is an argument, without a keyword. With `as NAMES` before that, the
/// administrator may have named further numbers (`NumberNames`).
macro_rules! number_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident : $number:ty $(as $names:ident)? $(, $bare:ident)? {
            $( $(#[$vmeta:meta])* $variant:ident = $value:tt, $text:literal ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "String", try_from = "crate::schema::NumberOrName")]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$vmeta])* #[doc = concat!("\n\n`", $text, "`.")] $variant, )*
            /// A number without a name here.
            Other($number),
        }

        impl From<$number> for $name {
            fn from(number: $number) -> Self {
                match number {
                    $(number if number == crate::schema::number!($value as $number) => Self::$variant,)*
                    other => Self::Other(other),
                }
            }
        }

        impl From<$name> for $number {
            fn from(name: $name) -> Self {
                match name {
                    $($name::$variant => crate::schema::number!($value as $number),)*
                    $name::Other(number) => number,
                }
            }
        }

        impl std::fmt::Display for $name {
            /// The name, or the number if it has none.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant => f.pad($text),)*
                    Self::Other(number) => number.fmt(f),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::schema::InvalidValue;

            /// Parses a name, in upper or lower case, or a number.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $(if text.eq_ignore_ascii_case($text) {
                    return Ok(Self::$variant);
                })*
                let number = crate::schema::c_number::<$number>(text);
                let invalid = || crate::schema::InvalidValue::new(stringify!($name), Some(text));
                number.map(Self::from).ok_or_else(invalid)
            }
        }

        impl crate::schema::TextValue for $name {
            fn parse(text: &str, _lookup: &mut dyn crate::schema::NameLookup) -> Option<Self> {
                let known = text.parse().ok();
                $(let known = known.or_else(|| {
                    let number = _lookup.number(crate::schema::NumberNames::$names, text)?;
                    <$number>::try_from(number).ok().map(Self::from)
                });)?
                known
            }

            fn format(&self, _lookup: &mut dyn crate::schema::NameLookup) -> String {
                $(if let Self::Other(number) = *self
                    && let Some(name) = _lookup.number_name(crate::schema::NumberNames::$names, number.into())
                {
                    return name;
                })?
                self.to_string()
            }

            fn range() -> Option<std::ops::RangeInclusive<i128>> {
                Some(0..=<$number>::MAX.into())
            }

            crate::schema::number_enum!(@parse_field [$($bare)?] [$($text),*]);
        }

        crate::schema::text_form!(json $name);
        crate::schema::from_number_or_name!($name);

        crate::schema::field_values! {
            $name: Named(crate::schema::NamedNumber {
                    name: stringify!($name),
                    bytes: size_of::<$number>(),
                    values: vec![$((stringify!($variant), u64::from(crate::schema::number!($value as $number)), $text)),*],
                }),
                |name| <$number>::from(*name).to_ne_bytes(),
                |bytes| Self::from(<$number>::from_ne_bytes(bytes));
        }

        crate::schema::fixed_size! {
            crate::schema::Native: $name = Number,
                |name| <$number>::from(*name).to_ne_bytes(), |bytes| <$number>::from_ne_bytes(bytes).into();
            crate::schema::BigEndian: $name = BigEndianNumber,
                |name| <$number>::from(*name).to_be_bytes(), |bytes| <$number>::from_be_bytes(bytes).into();
        }
    };
    (@parse_field [] [$($text:literal),*]) => {};
    (@parse_field [bare] [$($text:literal),*]) => {
        fn parse_field(
            name: &str,
            keyword: &str,
            args: &mut crate::schema::Arguments<'_>,
        ) -> crate::schema::Parsed<Option<Self>> {
            if [$($text),*].contains(&keyword) {
                return Ok(keyword.parse().ok());
            }
            if keyword == name {
                args.value(name).map(Some)
            } else {
                Ok(None)
            }
        }
    };
}
pub(crate) use number_enum;

/// Generates a set of named flags, with the names of `ip(8)` and `bridge(8)`. In JSON it is a list of
/// names; unnamed bits are a number in that list, in hexadecimal as a text.
///
/// ```text
/// flag_set! {
///     /// Documentation.
///     pub struct FdbFlags: u32 {
///         /// Documentation.
///         STICKY = 0x40, "sticky";
///     }
/// }
/// ```
macro_rules! flag_set {
    (
        $(#[$meta:meta])*
        pub struct $name:ident : $number:ty {
            $( $(#[$fmeta:meta])* $flag:ident = $value:tt, $text:literal ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "Vec<String>", try_from = "Vec<crate::schema::NumberOrName>")]
        pub struct $name(pub $number);

        impl $name {
            $( $(#[$fmeta])* #[doc = concat!("\n\n`", $text, "`.")] pub const $flag: Self = Self(crate::schema::number!($value as $number)); )*

            /// Whether all of `flags` are set.
            pub fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// The flag with this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$flag),)*
                    _ => None,
                }
            }

            /// The names of the flags that are set. All unnamed bits together are one number.
            pub fn names(self) -> Vec<String> {
                let mut rest = self.0;
                let mut names = Vec::new();
                for (flag, name) in [$((Self::$flag.0, $text)),*] {
                    if rest & flag != 0 {
                        names.push(name.to_owned());
                        rest &= !flag;
                    }
                }
                if rest != 0 {
                    names.push(format!("{rest:#x}"));
                }
                names
            }
        }

        crate::schema::field_values! {
            $name: Flags(crate::schema::NamedNumber {
                    name: stringify!($name),
                    bytes: size_of::<$number>(),
                    values: vec![$((stringify!($flag), u64::from(Self::$flag.0), $text)),*],
                }),
                |flags| flags.0.to_ne_bytes(), |bytes| Self(<$number>::from_ne_bytes(bytes));
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl From<$name> for Vec<String> {
            fn from(flags: $name) -> Self {
                flags.names()
            }
        }

        impl TryFrom<Vec<crate::schema::NumberOrName>> for $name {
            type Error = crate::schema::InvalidValue;

            fn try_from(names: Vec<crate::schema::NumberOrName>) -> Result<Self, Self::Error> {
                let mut flags = Self::default();
                for name in names {
                    let flag = match &name {
                        crate::schema::NumberOrName::Number(number) => (*number).try_into().ok().map(Self),
                        crate::schema::NumberOrName::Text(name) => {
                            let digits = name.strip_prefix("0x").unwrap_or_default();
                            let number = || <$number>::from_str_radix(digits, 16).ok().map(Self);
                            Self::named(name).or_else(number)
                        }
                    };
                    match flag {
                        Some(flag) => flags = flags | flag,
                        None => {
                            let name = name.to_string();
                            let invalid = crate::schema::InvalidValue::new(stringify!($name), Some(&name));
                            return Err(invalid);
                        }
                    }
                }
                Ok(flags)
            }
        }
    };
}
pub(crate) use flag_set;

/// Generates a struct of switches, each given or not.
///
/// ```text
/// switches! {
///     /// Documentation.
///     pub struct VlanFlags {
///         /// Documentation.
///         "gvrp" gvrp = 0x2;
///         keyword field bit; the keyword is optional
///     }
/// }
/// ```
macro_rules! switches {
    (
        $(#[doc = $set_doc:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $($word:literal $(| $alias:literal)*)? $field:ident = $bit:literal ;
            )*
        }
    ) => {
        $(#[doc = $set_doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize,
        )]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                #[doc = concat!("\n\nBit `", stringify!($bit), "`.")]
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<bool>,
            )*
        }

        impl $name {
            /// All fields unset.
            pub fn new() -> Self {
                Self::default()
            }

            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: bool) -> Self {
                    self.$field = Some($field);
                    self
                }
            )*
        }

        impl crate::schema::Bits for $name {
            fn to_bits(&self) -> (u32, u32) {
                let (mut set, mut given) = (0, 0);
                $(if let Some(on) = self.$field {
                    given |= $bit;
                    set |= if on { $bit } else { 0 };
                })*
                (set, given)
            }

            fn from_bits(set: u32, given: u32) -> Self {
                Self {
                    $($field: (given & $bit != 0).then_some(set & $bit != 0),)*
                }
            }
        }

        const _: () = {
            use crate::schema::{
                Arguments, FieldReader, FieldSet, FieldShape, FieldValue, FieldVisitor, FieldWriter, Flatten,
                InvalidField, NameLookup, Parsed, TextValue, field_id,
            };

            impl Flatten for $name {
                fn parse_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
                    $($(for name in [$word $(, $alias)*] {
                        if let Some(on) = <bool as TextValue>::parse_field(name, keyword, args)? {
                            self.$field = Some(on);
                            return Ok(true);
                        }
                    })?)*
                    Ok(false)
                }

                fn format_fields(&self, lookup: &mut dyn NameLookup, visit: &mut FieldVisitor<'_>) {
                    $($(
                        if let Some(on) = &self.$field {
                            visit($word, TextValue::format(on, lookup));
                        }
                    )?)*
                }
            }

            impl FieldSet for $name {
                const NAME: &'static str = stringify!($name);
                const DOC: &'static str = concat!($($set_doc, "\n"),*);

                fn fields() -> Vec<FieldShape> {
                    vec![$(FieldShape::of::<bool>(stringify!($field), concat!($($doc, "\n"),*))),*]
                }

                fn put_fields(&self, out: &mut FieldWriter<'_>) {
                    $(if let Some(on) = &self.$field {
                        out.field(const { field_id(stringify!($field)) }, on);
                    })*
                }

                fn take_field(
                    &mut self,
                    id: u32,
                    bytes: &[u8],
                    reader: &mut FieldReader<'_>,
                ) -> Result<bool, InvalidField> {
                    $(if id == const { field_id(stringify!($field)) } {
                        let on = FieldValue::take(bytes, reader);
                        self.$field = Some(on.map_err(|error| error.within(stringify!($field)))?);
                        return Ok(true);
                    })*
                    Ok(false)
                }
            }
        };

        crate::schema::field_set_value!($name);
    };
}
pub(crate) use switches;
