//! What makes an enumeration out of a table of names.

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
///
/// With `, bare` behind the type the names alone are words of a command line.
macro_rules! names {
    (
        $(#[$meta:meta])*
        pub enum $name:ident : $number:ty $(, $bare:ident)? {
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

            /// Reads a name, in letters of either case, or a number.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $(if text.eq_ignore_ascii_case($text) {
                    return Ok(Self::$variant);
                })*
                let number = match text.strip_prefix("0x") {
                    Some(digits) => <$number>::from_str_radix(digits, 16),
                    None => text.parse::<$number>(),
                };
                number.map(Self::from).map_err(|_| crate::table::BadWord {
                    wanted: stringify!($name).to_owned(),
                    found: Some(text.to_owned()),
                })
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

            fn range() -> Option<std::ops::RangeInclusive<i128>> {
                Some(0..=<$number>::MAX.into())
            }

            crate::table::names!(@field [$($bare)?] [$($text),*]);
        }

        crate::table::names!(@code $name, $number, Native, Number, to_ne_bytes, from_ne_bytes);
        crate::table::names!(@code $name, $number, Be, NumberBe, to_be_bytes, from_be_bytes);
    };
    (@field [] [$($text:literal),*]) => {};
    (@field [bare] [$($text:literal),*]) => {
        fn field(
            name: &str,
            word: &str,
            words: &mut crate::table::Words<'_>,
        ) -> Result<Option<Self>, crate::table::BadWord> {
            if [$($text),*].contains(&word) {
                return Ok(word.parse().ok());
            }
            if word == name {
                words.value(name).map(Some)
            } else {
                Ok(None)
            }
        }
    };
    (@code $name:ident, $number:ty, $code:ident, $shape:ident, $to:ident, $from:ident) => {
        impl crate::table::Code<$name> for crate::table::$code {
            const SHAPE: crate::table::Shape = crate::table::Shape::$shape;

            fn put(value: &$name, kind: u16, request: &mut crate::codec::Request) {
                request.attribute(kind, &<$number>::from(*value).$to());
            }

            fn take(
                attribute: crate::codec::Attribute<'_>,
            ) -> Result<$name, crate::codec::Malformed> {
                attribute.array().map(|bytes| <$number>::$from(bytes).into())
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
