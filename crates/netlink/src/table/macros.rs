//! What makes the struct of a set of attributes out of one table.

/// Makes the struct of a set of attributes and its [`Table`](super::Table).
///
/// ```text
/// attributes! {
///     /// Documentation of the struct.
///     pub struct Vlan {
///         @header {                               fields that are no attributes of their own
///             /// Documentation.
///             "dev" index: IfIndex;
///         }
///         @parts { IFA_CACHEINFO: Shape::Bytes; } attributes that hold several of those
///         @own read_word show_words;              methods asked before the words of the table
///         /// Documentation of the field.
///         #[serde(rename = "vlanProtocol")]
///         "protocol" protocol: u16 as Be = IFLA_VLAN_PROTOCOL;
///          word      field     type   code  constant; without a word no command line has it
///         /// Documentation of the field.
///         "remote" | "group" remote: Ipv4Addr = IFLA_VXLAN_GROUP;          words that mean the same
///         /// Documentation of the field.
///         flags: VlanFlags as Masked = IFLA_VLAN_FLAGS, Spread;           its fields have the words
///         /// Documentation of the field.
///         "id" [0..=4094] id: u16 = IFLA_VLAN_ID;                         no other is typed
///     }
/// }
/// ```
///
/// Each field is an `Option`, with a setter of its name for chains. Sections and `serde` may be left out.
macro_rules! attributes {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(@header { $(
                $(#[doc = $hdoc:literal])*
                $(#[serde($($hserde:tt)*)])*
                $($hword:literal)? $hfield:ident : $htype:ty ;
            )* })?
            $(@parts { $( $part:ident : $shape:expr ; )* })?
            $(@own $own_word:ident $own_show:ident ;)?
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])*
                $($word:literal $(| $alias:literal)* $([$least:literal ..= $most:literal])?)?
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
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[doc = concat!("\n\n`", stringify!($id), "`.")]
                $(
                    #[doc = concat!("\n\n", stringify!($spread), ": JSON and command lines have its fields.")]
                    #[serde(flatten, deserialize_with = "crate::table::if_given")]
                )?
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
                &[$($(crate::table::Entry {
                    kind: crate::uapi::$part,
                    constant: stringify!($part),
                    shape: $shape,
                },)*)?
                $(crate::table::Entry {
                    kind: crate::uapi::$id,
                    constant: stringify!($id),
                    shape: <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>::SHAPE,
                }),*]
            }

            /// Field by field: most are none already, and a value that is none need not be written.
            #[inline]
            fn clear(&mut self) {
                $($(self.$hfield = None;)*)?
                $(self.$field = None;)*
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
                        <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                            ::take_into(&mut self.$field, attribute)?;
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
                $(
                    if !<crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                        ::fits(self.$field.as_ref(), wanted.$field.as_ref())
                    {
                        return false;
                    }
                )*
                true
            }

            #[allow(unused_mut, reason = "a table may be empty")]
            fn questions(&self) -> Vec<crate::table::Question<Self>> {
                let mut questions: Vec<crate::table::Question<Self>> = Vec::new();
                $($(
                    if self.$hfield.is_some() {
                        questions.push(|it, wanted| it.$hfield == wanted.$hfield);
                    }
                )*)?
                $(
                    if self.$field.is_some() {
                        questions.push(|it, wanted| {
                            <crate::table::attributes!(@code $($code)?) as crate::table::Code<$type>>
                                ::fits(it.$field.as_ref(), wanted.$field.as_ref())
                        });
                    }
                )*
                questions
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
                $(
                    if self.$own_word(word, words)? {
                        return Ok(true);
                    }
                )?
                $($($(
                    if let Some(value) =
                        <$htype as crate::table::Word>::field($hword, word, words)?
                    {
                        self.$hfield = Some(value);
                        return Ok(true);
                    }
                )?)*)?
                $(
                    $(for name in [$word $(, $alias)*] {
                        let read = <$type as crate::table::Word>::field(name, word, words);
                        $(let read = crate::table::in_range(read, name, $least..=$most);)?
                        if let Some(value) = read? {
                            self.$field = Some(value);
                            return Ok(true);
                        }
                    })?
                    $({
                        let mut value = self.$field.clone().unwrap_or_default();
                        if crate::table::$spread::word(&mut value, word, words)? {
                            self.$field = Some(value);
                            return Ok(true);
                        }
                    })?
                )*
                Ok(false)
            }

            #[allow(unused_variables, reason = "a table may have no words")]
            fn show(
                &self,
                lookup: &mut dyn crate::table::Lookup,
                show: &mut dyn FnMut(&'static str, String),
            ) {
                $(self.$own_show(lookup, show);)?
                $($($(
                    if let Some(value) = &self.$hfield {
                        show($hword, crate::table::Word::write(value, lookup));
                    }
                )?)*)?
                $(
                    $(if let Some(value) = &self.$field {
                        show($word, crate::table::Word::write(value, lookup));
                    })?
                    $(if let Some(value) = &self.$field {
                        crate::table::$spread::show(value, lookup, show);
                    })?
                )*
            }
        }
    };
    (@code) => { crate::table::Native };
    (@code $code:ty) => { $code };
}
pub(crate) use attributes;
