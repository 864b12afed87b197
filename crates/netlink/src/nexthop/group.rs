use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Lookup, Native, Shape, Word, attributes, names, whole};
use crate::uapi::{NEXTHOP_GRP_TYPE_MPATH, NEXTHOP_GRP_TYPE_RES};

names! {
    /// How a group shares traffic among its members.
    pub enum GroupType: u16 {
        /// By hash thresholds: a change moves many flows.
        Mpath = NEXTHOP_GRP_TYPE_MPATH, "mpath";
        /// By buckets, which move to another member only when they are idle.
        Resilient = NEXTHOP_GRP_TYPE_RES, "resilient";
    }
}

/// A member of a group of nexthops (`struct nexthop_grp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupMember {
    /// Number of the nexthop.
    pub id: u32,
    /// Its share of the traffic, 1 to 65,536 (256 before Linux 6.12).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_one(weight: &u32) -> bool {
    *weight == 1
}

/// The members of a group. A command line has them as `1/2,3`: number, comma, share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Group(pub Vec<GroupMember>);

impl Group {
    /// Members that have the same share.
    pub fn of(ids: impl IntoIterator<Item = u32>) -> Self {
        let member = |id| GroupMember { id, weight: 1 };
        Self(ids.into_iter().map(member).collect())
    }
}

/// Members that a message has room for; the kernel takes fewer than 65,536 bytes of them.
pub(super) const MOST_MEMBERS: usize = 4096;

impl Code<Group> for Native {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &Group, kind: u16, request: &mut Request) {
        let members = value.0.iter().take(MOST_MEMBERS);
        request.bytes_of(kind, |request| {
            for member in members {
                let [low, high, ..] = member.weight.saturating_sub(1).to_le_bytes();
                let [i0, i1, i2, i3] = member.id.to_ne_bytes();
                request.raw(&[i0, i1, i2, i3, low, high, 0, 0]);
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Group, Malformed> {
        let (members, _) = attribute.bytes.as_chunks::<8>();
        let member = |[i0, i1, i2, i3, low, high, _, _]: &[u8; 8]| GroupMember {
            id: u32::from_ne_bytes([*i0, *i1, *i2, *i3]),
            weight: u32::from(u16::from_le_bytes([*low, *high])) + 1,
        };
        Ok(Group(members.iter().map(member).collect()))
    }

    whole!(Group);
}

impl FromStr for Group {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let member = |text: &str| {
            let (id, weight) = text.split_once(',').unwrap_or((text, "1"));
            let (id, weight) = (id.parse().ok()?, weight.parse().ok()?);
            Some(GroupMember { id, weight })
        };
        let members: Option<Vec<_>> = text.split('/').map(member).collect();
        members.map(Self).ok_or_else(|| BadWord {
            wanted: "group".to_owned(),
            found: Some(text.to_owned()),
        })
    }
}

impl Word for Group {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        let member = |member: &GroupMember| match member.weight {
            1 => member.id.to_string(),
            weight => format!("{},{weight}", member.id),
        };
        self.0.iter().map(member).collect::<Vec<_>>().join("/")
    }
}

attributes! {
    /// How a resilient group moves flows (`NHA_RES_GROUP`).
    ///
    /// # Source
    /// Documentation/networking/nexthop-group-resilient.rst.
    pub struct ResilientArgs {
        /// How many buckets it has; cannot be changed.
        "buckets" buckets: u16 = NHA_RES_GROUP_BUCKETS;
        /// How long a bucket is idle before it may move.
        "idle_timer" idle_timer: ClockTicks = NHA_RES_GROUP_IDLE_TIMER;
        /// How long the group may be out of balance before busy buckets move too; 0 for ever.
        "unbalanced_timer" unbalanced_timer: ClockTicks = NHA_RES_GROUP_UNBALANCED_TIMER;
        /// How long it has been out of balance. Told only.
        unbalanced_time: ClockTicks as Wide = NHA_RES_GROUP_UNBALANCED_TIME;
    }
}

/// A time in hundredths of a second (`clock_t`); JSON and command lines have seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClockTicks(pub u32);

impl ClockTicks {
    /// So many seconds.
    pub fn seconds(seconds: u32) -> Self {
        Self(seconds.saturating_mul(100))
    }

    fn of(seconds: f64) -> Option<Self> {
        let ticks = (seconds * 100.0).round();
        #[expect(clippy::cast_sign_loss, reason = "the range is checked")]
        (0.0..=f64::from(u32::MAX))
            .contains(&ticks)
            .then_some(Self(ticks as u32))
    }
}

impl Serialize for ClockTicks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(100) {
            serializer.serialize_u32(self.0 / 100)
        } else {
            serializer.serialize_f64(f64::from(self.0) / 100.0)
        }
    }
}

impl<'de> Deserialize<'de> for ClockTicks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Self::of(seconds).ok_or_else(|| serde::de::Error::custom("a time out of range"))
    }
}

impl Word for ClockTicks {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        Self::of(text.parse().ok()?)
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        (f64::from(self.0) / 100.0).to_string()
    }
}

impl Code<ClockTicks> for Native {
    const SHAPE: Shape = Shape::Number;

    fn put(value: &ClockTicks, kind: u16, request: &mut Request) {
        request.u32(kind, value.0);
    }

    fn take(attribute: Attribute<'_>) -> Result<ClockTicks, Malformed> {
        attribute.u32().map(ClockTicks)
    }

    whole!(ClockTicks);
}

/// A time of 64 bits; what is longer than 32 have is as long as those say.
#[derive(Clone, Copy, Debug)]
pub struct Wide;

impl Code<ClockTicks> for Wide {
    const SHAPE: Shape = Shape::Number;

    fn put(_: &ClockTicks, _: u16, _: &mut Request) {}

    fn take(attribute: Attribute<'_>) -> Result<ClockTicks, Malformed> {
        let ticks = u64::from_ne_bytes(attribute.array()?);
        Ok(ClockTicks(ticks.try_into().unwrap_or(u32::MAX)))
    }

    whole!(ClockTicks);
}
