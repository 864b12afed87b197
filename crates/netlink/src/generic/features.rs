//! Offloads and other features that a link has, switched on or off.

use super::bitset;
use super::ethtool::{Ethtool, about, header};
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::interface::IfName;
use crate::object::Unfit;
use crate::uapi::{
    ETHTOOL_A_FEATURES_ACTIVE, ETHTOOL_A_FEATURES_HW, ETHTOOL_A_FEATURES_NOCHANGE,
    ETHTOOL_A_FEATURES_WANTED, ETHTOOL_MSG_FEATURES_GET, ETHTOOL_MSG_FEATURES_SET,
};

/// Features in one request; the kernel has some 70.
const MAX_FEATURES: usize = 256;

/// The features of a link, by the kernel's names (`rx-gro`, `tx-tcp-segmentation` …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// Those that are on.
    pub active: Vec<String>,
    /// Those that may be switched.
    pub changeable: Vec<String>,
}

impl Features {
    /// Whether the feature called `name` is on; one that the kernel does not know is not.
    pub fn is_active(&self, name: &str) -> bool {
        self.active.iter().any(|active| active == name)
    }

    /// Whether the feature called `name` may be switched.
    pub fn is_changeable(&self, name: &str) -> bool {
        self.changeable.iter().any(|known| known == name)
    }
}

/// The features as they are told.
#[derive(Default)]
struct Told {
    active: Vec<String>,
    switchable: Vec<String>,
    fixed: Vec<String>,
}

impl Ethtool {
    /// The features of a link. Equals `ethtool -k NAME`, with the kernel's names.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link.
    #[doc(alias = "ETHTOOL_MSG_FEATURES_GET")]
    pub fn features(&mut self, name: IfName) -> Result<Features, NetlinkError> {
        let mut request = self.family.request(ETHTOOL_MSG_FEATURES_GET);
        header(&mut request, name);
        let told = self.family.get(request, |told: &mut Told, attribute| {
            match attribute.kind {
                ETHTOOL_A_FEATURES_ACTIVE => told.active = bitset::names(attribute)?,
                ETHTOOL_A_FEATURES_HW => told.switchable = bitset::names(attribute)?,
                ETHTOOL_A_FEATURES_NOCHANGE => told.fixed = bitset::names(attribute)?,
                _ => {}
            }
            Ok(())
        });
        let mut told = told.map_err(about(Action::Get, Subject::Features(name)))?;
        told.switchable.retain(|name| !told.fixed.contains(name));
        Ok(Features {
            active: told.active,
            changeable: told.switchable,
        })
    }

    /// Asks for a feature of a link to be switched; what became of it [`features`](Self::features)
    /// tells, since the driver has the last word. Equals `ethtool -K NAME FEATURE on|off`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link, EOPNOTSUPP when there is no such feature.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_MSG_FEATURES_SET")]
    pub fn set_feature(
        &mut self,
        name: IfName,
        feature: &str,
        on: bool,
    ) -> Result<(), NetlinkError> {
        self.set_features(name, &[(feature, on)])
    }

    /// As [`set_feature`](Self::set_feature), for several at once: at most 256. Others stay. Equals
    /// `ethtool -K NAME FEATURE on|off FEATURE on|off …`.
    ///
    /// # Errors
    /// As [`set_feature`](Self::set_feature); none is switched then. `Cause::Unfit` with more than 256.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    pub fn set_features(
        &mut self,
        name: IfName,
        features: &[(&str, bool)],
    ) -> Result<(), NetlinkError> {
        let about = about(Action::Set, Subject::Features(name));
        if features.len() > MAX_FEATURES {
            let reason = format!("{} features are more than there are", features.len());
            return Err(about(Cause::Unfit(Unfit::new(reason))));
        }
        let mut request = self.family.request(ETHTOOL_MSG_FEATURES_SET);
        header(&mut request, name);
        bitset::change(&mut request, ETHTOOL_A_FEATURES_WANTED, features);
        let told = self.family.socket.tell(&mut request);
        told.map_err(about)
    }
}
