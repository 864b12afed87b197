//! Keywords of `bridge vlan` that need special parsing or formatting.

use super::{PortVlan, PortVlanFlags};
use crate::schema::{Arguments, InvalidValue, NameLookup};

impl PortVlan {
    /// Parses `vid VLAN[-VLAN]` and the flags.
    pub(super) fn read_word(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        let flag = match word {
            "vid" => {
                let text: String = words.value(word)?;
                let (first, last) = match text.split_once('-') {
                    Some((first, last)) => (first, Some(last)),
                    None => (text.as_str(), None),
                };
                let number = |digits: &str| {
                    digits
                        .parse()
                        .map_err(|_| InvalidValue::new("vid: 1 to 4094", Some(&text)))
                };
                self.vlan = Some(number(first)?);
                self.vlan_end = last.map(number).transpose()?;
                return Ok(true);
            }
            "self" => {
                self.own = Some(true);
                return Ok(true);
            }
            "master" => {
                self.master = Some(true);
                return Ok(true);
            }
            "pvid" => PortVlanFlags::PVID,
            "untagged" => PortVlanFlags::UNTAGGED,
            _ => return Ok(false),
        };
        self.flags = Some(self.flags.unwrap_or_default() | flag);
        Ok(true)
    }

    pub(super) fn show_words(
        &self,
        _: &mut dyn NameLookup,
        show: &mut dyn FnMut(&'static str, String),
    ) {
        match (self.vlan, self.vlan_end) {
            (Some(first), Some(last)) => show("vid", format!("{first}-{last}")),
            (Some(vlan), None) => show("vid", vlan.to_string()),
            (None, _) => {}
        }
        let has = |flag| self.flags.is_some_and(|flags| flags.contains(flag));
        let flags = [
            ("pvid", has(PortVlanFlags::PVID)),
            ("untagged", has(PortVlanFlags::UNTAGGED)),
            ("self", self.own == Some(true)),
            ("master", self.master == Some(true)),
        ];
        for (word, _) in flags.into_iter().filter(|(_, on)| *on) {
            show(word, String::new());
        }
    }
}
