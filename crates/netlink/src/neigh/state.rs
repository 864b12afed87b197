use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::table::names;
use crate::uapi::{
    NUD_DELAY, NUD_FAILED, NUD_INCOMPLETE, NUD_NOARP, NUD_NONE, NUD_PERMANENT, NUD_PROBE,
    NUD_REACHABLE, NUD_STALE,
};

names! {
    /// What is known of a neighbour (`NUD_*`).
    pub enum NeighState: u16 {
        /// Nothing.
        None = NUD_NONE, "none";
        /// It is being asked for the first time.
        Incomplete = NUD_INCOMPLETE, "incomplete";
        /// It has answered not long ago.
        Reachable = NUD_REACHABLE, "reachable";
        /// It has not been heard of for a while.
        Stale = NUD_STALE, "stale";
        /// It has not been heard of for a while and is being sent to.
        Delay = NUD_DELAY, "delay";
        /// It is being asked again.
        Probe = NUD_PROBE, "probe";
        /// It did not answer.
        Failed = NUD_FAILED, "failed";
        /// It is not asked on this link, and known as long as there is room.
        Noarp = NUD_NOARP, "noarp";
        /// An administrator has said so: it is not asked.
        Permanent = NUD_PERMANENT, "permanent";
    }
}

/// As `ip -json` has it: a list of one name in capitals.
pub(super) mod as_list {
    use super::{Deserialize, Deserializer, NeighState, Serialize, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands it over so"
    )]
    pub fn serialize<S: Serializer>(
        state: &Option<NeighState>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let names: Vec<_> = state.iter().map(|s| s.to_string().to_uppercase()).collect();
        names.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<NeighState>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let first = names.first().map(|name| name.to_lowercase().parse());
        first.transpose().map_err(serde::de::Error::custom)
    }
}
