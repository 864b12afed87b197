use crate::codec::Request;
use crate::error::InvalidRequest;
use crate::schema::{Arguments, AttributeCodec, AttributeSet, InvalidValue, Nested};
use crate::uapi::IFLA_INFO_DATA;

/// The settings of a kind of link: an attribute set with special behaviour.
pub(crate) trait KindSettings: AttributeSet + Clone + PartialEq {
    /// Whether the kernel resets settings that a change omits, so that a change must contain all.
    const RESETS_OMITTED_FIELDS: bool = false;

    /// With the settings that follow from others.
    fn completed(&self) -> Self {
        self.clone()
    }

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

    /// As [`AttributeSet::parse_keyword`], for keywords that set more than one field.
    ///
    /// # Errors
    /// As [`AttributeSet::parse_keyword`].
    fn parse_special_keyword(
        &mut self,
        _word: &str,
        _words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        Ok(false)
    }

    /// Appends `IFLA_INFO_DATA`, if any setting is given.
    fn encode_data(&self, request: &mut Request) {
        if *self != Self::default() {
            Nested::encode(&self.completed(), IFLA_INFO_DATA, request);
        }
    }
}
