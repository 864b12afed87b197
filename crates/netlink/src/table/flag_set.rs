//! Sets of flags.

/// Makes a set of flags with the names that `ip(8)` and `bridge(8)` have for them. As JSON it is a list of
/// names; bits without a name are a number there.
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
            $( $(#[$fmeta:meta])* $flag:ident = $value:expr, $text:literal ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "Vec<String>", try_from = "Vec<String>")]
        pub struct $name(pub $number);

        impl $name {
            $( $(#[$fmeta])* pub const $flag: Self = Self($value); )*

            /// Whether it has all of `flags`.
            pub fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// The flag of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$flag),)*
                    _ => None,
                }
            }

            /// The names of its flags; bits without a name are one number.
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
            type Error = crate::table::BadWord;

            fn try_from(names: Vec<String>) -> Result<Self, Self::Error> {
                let mut flags = Self::default();
                for name in names {
                    let digits = name.strip_prefix("0x").unwrap_or_default();
                    let number = || <$number>::from_str_radix(digits, 16).ok().map(Self);
                    match Self::named(&name).or_else(number) {
                        Some(flag) => flags = flags | flag,
                        None => {
                            return Err(crate::table::BadWord {
                                wanted: stringify!($name).to_owned(),
                                found: Some(name),
                            });
                        }
                    }
                }
                Ok(flags)
            }
        }
    };
}
pub(crate) use flag_set;
