//! The macros that generate types from tables.

/// Generates the struct of a set of attributes and its [`AttributeSet`](super::AttributeSet).
///
/// ```text
/// attribute_set! {
///     /// Documentation of the struct.
///     pub struct Vlan {
///         @header {                               fields that are not single attributes
///             /// Documentation.
///             "dev" index: IfIndex;
///         }
///         @flags {                                fields that are bits of a number, perhaps inverted
///             /// Documentation.
///             "arp" arp = IFF_NOARP, inverse;
///         }
///         @parts { IFA_CACHEINFO: AttributeType::Bytes; }  attributes that hold several of those
///         @own parse_special_keyword;             a method that parses keywords before the fields do
///         /// Documentation of the field.
///         #[serde(rename = "vlanProtocol")]
///         "protocol" protocol: u16 as BigEndian = IFLA_VLAN_PROTOCOL;
///          keyword   field     type   codec       constant; the keyword is optional
///         /// Documentation of the field.
///         "remote" | "group" remote: Ipv4Addr = IFLA_VXLAN_GROUP;          alternative keywords
///         /// Documentation of the field.
///         flags: VlanFlags as MaskedBitField = IFLA_VLAN_FLAGS, Flatten;   its fields have the keywords
///         /// Documentation of the field.
///         "id" [0..=4094] id: u16 = IFLA_VLAN_ID;                          valid range of typed values
///     }
/// }
/// ```
///
/// Each field is an `Option` and has a setter of the same name for chaining. `@` sections and `serde`
/// attributes are optional.
macro_rules! attribute_set {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(@header { $(
                $(#[doc = $hdoc:literal])*
                $(#[serde($($hserde:tt)*)])*
                $($hword:literal $(| $halias:literal)*)? $hfield:ident : $htype:ty ;
            )* })?
            $(@flags { $(
                $(#[doc = $fdoc:literal])*
                $(#[serde($($fserde:tt)*)])*
                $($fword:literal)? $flag:ident = $bit:ident $(, $inverse:ident)? ;
            )* })?
            $(@parts { $( $part:ident : $shape:expr ; )* })?
            $(@own $own_word:ident ;)?
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])*
                $($word:literal $(| $alias:literal)* $([$min:literal ..= $max:literal])?)?
                $field:ident : $type:ty $(as $code:ty)? = $id:ident $(, $spread:ident)? ;
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
                $(#[serde($($hserde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $hfield: Option<$htype>,
            )*)?
            $($(
                $(#[doc = $fdoc])*
                $(#[serde($($fserde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[doc = concat!("\n\n`", stringify!($bit), "`.")]
                pub $flag: Option<bool>,
            )*)?
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[doc = concat!("\n\n`", stringify!($id), "`.")]
                $(
                    #[doc = concat!("\n\n", stringify!($spread), ": JSON and command lines contain its fields directly.")]
                    #[serde(flatten, deserialize_with = "crate::schema::deserialize_if_given")]
                )?
                pub $field: Option<$type>,
            )*
        }

        impl $name {
            /// All fields unset.
            pub fn new() -> Self {
                Self::default()
            }

            $($(
                #[doc = concat!("Sets [`", stringify!($hfield), "`](#structfield.", stringify!($hfield), ").")]
                #[must_use]
                pub fn $hfield(mut self, $hfield: $htype) -> Self {
                    self.$hfield = Some($hfield);
                    self
                }
            )*)?

            $(
                $(
                    #[doc = concat!("Sets [`", stringify!($flag), "`](#structfield.", stringify!($flag), ").")]
                    #[must_use]
                    pub fn $flag(mut self, $flag: bool) -> Self {
                        self.$flag = Some($flag);
                        self
                    }
                )*

                /// The bits of the flags that are on, and of those that are given.
                pub(crate) fn flag_bits(&self) -> (u32, u32) {
                    let (mut on, mut given) = (0, 0);
                    $(if let Some(flag) = self.$flag {
                        given |= crate::uapi::$bit as u32;
                        if flag != (false $(|| stringify!($inverse) == "inverse")?) {
                            on |= crate::uapi::$bit as u32;
                        }
                    })*
                    (on, given)
                }

                /// Sets the flags whose bits are in `given` to the values in `on`.
                pub(crate) fn set_flag_bits(&mut self, on: u32, given: u32) {
                    $(if given & crate::uapi::$bit as u32 != 0 {
                        let is_on = on & crate::uapi::$bit as u32 != 0;
                        self.$flag = Some(is_on != (false $(|| stringify!($inverse) == "inverse")?));
                    })*
                }
            )?

            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = Some($field);
                    self
                }
            )*
        }

        const _: () = {
            #[allow(unused_imports, reason = "a set may be empty")]
            use crate::schema::{
                Arguments, AttributeCodec, AttributeSet, AttributeSpec, FieldMatcher, FieldVisitor, Flatten,
                NameLookup, Parsed, TextValue, check_range, codec,
            };
            use crate::codec::{Attribute, Malformed, Request};

            impl AttributeSet for $name {
                fn specs() -> &'static [AttributeSpec] {
                    &[$($(AttributeSpec {
                        kind: crate::uapi::$part as u16,
                        constant: stringify!($part),
                        contents: $shape,
                    },)*)?
                    $(AttributeSpec {
                        kind: crate::uapi::$id as u16,
                        constant: stringify!($id),
                        contents: <codec!($($code)?) as AttributeCodec<$type>>::TYPE,
                    }),*]
                }

                /// Field by field: most are `None` already, so nothing is written.
                #[inline]
                fn clear(&mut self) {
                    $($(self.$hfield = None;)*)?
                    $($(self.$flag = None;)*)?
                    $(self.$field = None;)*
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn encode_attributes(&self, request: &mut Request) {
                    $(if let Some(value) = &self.$field {
                        <codec!($($code)?) as AttributeCodec<$type>>::encode(value, crate::uapi::$id as u16, request);
                    })*
                }

                #[inline]
                fn decode_attribute(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                    $(const $id: u16 = crate::uapi::$id as u16;)*
                    match attribute.kind {
                        $($id => {
                            <codec!($($code)?) as AttributeCodec<$type>>::decode_into(&mut self.$field, attribute)?;
                        })*
                        _ => {}
                    }
                    Ok(())
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn fields_match(&self, filter: &Self) -> bool {
                    $($(
                        if filter.$hfield.is_some() && self.$hfield != filter.$hfield {
                            return false;
                        }
                    )*)?
                    $($(
                        if filter.$flag.is_some() && self.$flag != filter.$flag {
                            return false;
                        }
                    )*)?
                    $(
                        if !<codec!($($code)?) as AttributeCodec<$type>>::field_matches(self.$field.as_ref(), filter.$field.as_ref())
                        {
                            return false;
                        }
                    )*
                    true
                }

                #[allow(unused_mut, reason = "a set may be empty")]
                fn field_matchers(&self) -> Vec<FieldMatcher<Self>> {
                    let mut matchers: Vec<FieldMatcher<Self>> = Vec::new();
                    $($(
                        if self.$hfield.is_some() {
                            matchers.push(|object, filter| object.$hfield == filter.$hfield);
                        }
                    )*)?
                    $($(
                        if self.$flag.is_some() {
                            matchers.push(|object, filter| object.$flag == filter.$flag);
                        }
                    )*)?
                    $(
                        if self.$field.is_some() {
                            matchers.push(|object, filter| {
                                <codec!($($code)?) as AttributeCodec<$type>>::field_matches(object.$field.as_ref(), filter.$field.as_ref())
                            });
                        }
                    )*
                    matchers
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn merge(&mut self, change: Self) {
                    $($(
                        if change.$hfield.is_some() {
                            self.$hfield = change.$hfield;
                        }
                    )*)?
                    $($(self.$flag = change.$flag.or(self.$flag);)*)?
                    $(<codec!($($code)?) as AttributeCodec<$type>>::merge_field(&mut self.$field, change.$field);)*
                }

                #[allow(unused_variables, reason = "a set may be empty")]
                fn retain_fields(&mut self, other: &Self) {
                    $($(
                        if other.$hfield.is_none() {
                            self.$hfield = None;
                        }
                    )*)?
                    $($(self.$flag = self.$flag.filter(|_| other.$flag.is_some());)*)?
                    $(<codec!($($code)?) as AttributeCodec<$type>>::retain_field(&mut self.$field, other.$field.as_ref());)*
                }

            }

            impl Flatten for $name {
                #[allow(unused_variables, reason = "a set may have no keywords")]
                fn parse_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
                    $(
                        if self.$own_word(keyword, args)? {
                            return Ok(true);
                        }
                    )?
                    $($($(for name in [$hword $(, $halias)*] {
                        if let Some(value) = <$htype as TextValue>::parse_field(name, keyword, args)? {
                            self.$hfield = Some(value);
                            return Ok(true);
                        }
                    })?)*)?
                    $($($(
                        if let Some(on) = bool::parse_field($fword, keyword, args)? {
                            self.$flag = Some(on);
                            return Ok(true);
                        }
                    )?)*)?
                    $(
                        $(for name in [$word $(, $alias)*] {
                            let parsed = <$type as TextValue>::parse_field(name, keyword, args);
                            $(let parsed = check_range(parsed, name, $min..=$max);)?
                            if let Some(value) = parsed? {
                                self.$field = Some(value);
                                return Ok(true);
                            }
                        })?
                        $({
                            let mut value = self.$field.clone().unwrap_or_default();
                            if $spread::parse_keyword(&mut value, keyword, args)? {
                                self.$field = Some(value);
                                return Ok(true);
                            }
                        })?
                    )*
                    Ok(false)
                }

                #[allow(unused_variables, reason = "a set may have no keywords")]
                fn format_fields(&self, lookup: &mut dyn NameLookup, visit: &mut FieldVisitor<'_>) {
                    $($($(
                        if let Some(value) = &self.$hfield {
                            visit($hword, TextValue::format(value, lookup));
                        }
                    )?)*)?
                    $($($(
                        if let Some(on) = &self.$flag {
                            visit($fword, on.format(lookup));
                        }
                    )?)*)?
                    $(
                        $(if let Some(value) = &self.$field {
                            visit($word, TextValue::format(value, lookup));
                        })?
                        $(if let Some(value) = &self.$field {
                            $spread::format_fields(value, lookup, visit);
                        })?
                    )*
                }
            }
        };
    };
}
pub(crate) use attribute_set;

/// The codec of a field: the given one, or the kernel's usual encoding.
macro_rules! codec {
    () => {
        crate::schema::Native
    };
    ($code:ty) => {
        $code
    };
}
pub(crate) use codec;

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
/// With `, bare` after the type, a name alone is an argument, without a keyword.
macro_rules! number_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident : $number:ty $(, $bare:ident)? {
            $( $(#[$vmeta:meta])* $variant:ident = $value:tt, $text:literal ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "String", try_from = "String")]
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
                let number = match text.strip_prefix("0x") {
                    Some(digits) => <$number>::from_str_radix(digits, 16),
                    None => text.parse::<$number>(),
                };
                let invalid = |_| crate::schema::InvalidValue::new(stringify!($name), Some(text));
                number.map(Self::from).map_err(invalid)
            }
        }

        impl crate::schema::TextValue for $name {
            fn parse(text: &str, _: &mut dyn crate::schema::NameLookup) -> Option<Self> {
                text.parse().ok()
            }

            fn format(&self, _: &mut dyn crate::schema::NameLookup) -> String {
                self.to_string()
            }

            fn range() -> Option<std::ops::RangeInclusive<i128>> {
                Some(0..=<$number>::MAX.into())
            }

            crate::schema::number_enum!(@parse_field [$($bare)?] [$($text),*]);
        }

        crate::schema::text_form!(json $name);

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
/// names; unnamed bits are a number in that list.
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
        #[serde(into = "Vec<String>", try_from = "Vec<String>")]
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

        impl TryFrom<Vec<String>> for $name {
            type Error = crate::schema::InvalidValue;

            fn try_from(names: Vec<String>) -> Result<Self, Self::Error> {
                let mut flags = Self::default();
                for name in names {
                    let digits = name.strip_prefix("0x").unwrap_or_default();
                    let number = || <$number>::from_str_radix(digits, 16).ok().map(Self);
                    match Self::named(&name).or_else(number) {
                        Some(flag) => flags = flags | flag,
                        None => {
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
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $($word:literal $(| $alias:literal)*)? $field:ident = $bit:literal ;
            )*
        }
    ) => {
        $(#[$meta])*
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
            use crate::schema::{Arguments, FieldVisitor, Flatten, NameLookup, Parsed, TextValue};

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
        };
    };
}
pub(crate) use switches;
