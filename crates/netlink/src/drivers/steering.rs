//! Receive steering of a device: the hash of packets, its fields, and rules for flows.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::BorrowedFd;

use abi::ethtool::{self, HashChange};
use rustix::io::Errno;

use super::ethtool::{Ethtool, HashFunction, about};
use super::flow_rule::{FlowRule, FlowType};
use super::ioctl::{about as ioctl_failed, supported};
use crate::error::{Action, Cause, InvalidRequest, NetlinkError, RequestTarget};
use crate::values::interface::IfName;

/// How a device hashes received packets and chooses a queue by the hash. In a change, `None` stays.
#[doc(alias = "RSS")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HashSteering {
    /// The indirection table: the queue of each value of the low bits of the hash. Empty in a change: the driver's own table.
    pub table: Option<Vec<u32>>,
    /// The key of the hash.
    pub key: Option<Vec<u8>>,
    /// The hash function. Other functions than those of Linux are `None`.
    pub function: Option<HashFunction>,
}

impl HashSteering {
    /// Sets [`table`](#structfield.table).
    #[must_use]
    pub fn table(mut self, table: Vec<u32>) -> Self {
        self.table = Some(table);
        self
    }

    /// Sets [`key`](#structfield.key).
    #[must_use]
    pub fn key(mut self, key: Vec<u8>) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets [`function`](#structfield.function).
    #[must_use]
    pub fn function(mut self, function: HashFunction) -> Self {
        self.function = Some(function);
        self
    }
}

/// Fields of packets that a hash covers, by the letters of `ethtool -N NAME rx-flow-hash`.
const FIELDS: [(char, u64); 8] = [
    ('m', 1 << 1),
    ('v', 1 << 2),
    ('t', 1 << 3),
    ('s', 1 << 4),
    ('d', 1 << 5),
    ('f', 1 << 6),
    ('n', 1 << 7),
    ('r', 1 << 31),
];

impl Ethtool {
    /// How the device hashes received packets; `None` if its driver does not. Equals `ethtool -x NAME`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    #[doc(alias = "ETHTOOL_GRSSH")]
    pub fn hash_steering(&self, name: IfName) -> Result<Option<HashSteering>, NetlinkError> {
        let hash = supported(ethtool::hash(self.socket(), name.padded()));
        let hash = hash.map_err(ioctl_failed(Action::Get, RequestTarget::Hash(name)))?;
        Ok(hash.map(|hash| HashSteering {
            function: HashFunction::of_bits(hash.function.into()),
            table: Some(hash.table),
            key: Some(hash.key),
        }))
    }

    /// Changes how the device hashes received packets. Equals `ethtool -X NAME …`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist, EOPNOTSUPP if its driver cannot, EINVAL for a queue that it has
    /// not, or a table or key of another size than the device's.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_SRSSH")]
    pub fn set_hash_steering(
        &self,
        name: IfName,
        steering: &HashSteering,
    ) -> Result<(), NetlinkError> {
        let change = HashChange {
            table: steering.table.as_deref(),
            key: steering.key.as_deref(),
            function: steering.function.map(HashFunction::bits),
        };
        let present = ethtool::hash(self.socket(), name.padded());
        present
            .and_then(|present| ethtool::set_hash(self.socket(), name.padded(), &present, change))
            .map_err(ioctl_failed(Action::Set, RequestTarget::Hash(name)))
    }

    /// The fields of packets of a type that the hash covers, as letters: s and d for the addresses of IP, f and n for the
    /// ports, m, v, t for the destination address, the tag and the protocol of layer 2 and 3, r if such packets are dropped.
    /// `None` if the driver does not report it. Equals `ethtool -n NAME rx-flow-hash TYPE`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    #[doc(alias = "ETHTOOL_GRXFH")]
    pub fn hashed_fields(
        &self,
        name: IfName,
        flow: FlowType,
    ) -> Result<Option<String>, NetlinkError> {
        let fields = ethtool::hashed_fields(self.socket(), name.padded(), flow.of_hashes());
        let fields = match fields {
            // The driver knows hashes, and none of such packets.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => None,
            fields => {
                supported(fields).map_err(ioctl_failed(Action::Get, RequestTarget::Hash(name)))?
            }
        };
        Ok(fields.map(|fields| {
            let on = FIELDS.iter().filter(|(_, bit)| fields & bit != 0);
            on.map(|(letter, _)| letter).collect()
        }))
    }

    /// Changes the fields of packets of a type that the hash covers. Equals `ethtool -N NAME rx-flow-hash TYPE FIELDS`.
    ///
    /// # Errors
    /// `Cause::Invalid` for other letters; `Cause::System` with ENODEV if the link does not exist, EOPNOTSUPP or EINVAL if the
    /// driver cannot.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_SRXFH")]
    pub fn set_hashed_fields(
        &self,
        name: IfName,
        flow: FlowType,
        fields: &str,
    ) -> Result<(), NetlinkError> {
        let bits = fields.chars().try_fold(0, |bits, letter| {
            let known = FIELDS.iter().find(|(known, _)| *known == letter);
            known.map(|(_, bit)| bits | bit)
        });
        let Some(bits) = bits else {
            let reason = format!("{fields:?} are not fields of a hash: use letters of mvtsdfnr");
            let cause = Cause::Invalid(InvalidRequest::new(reason));
            return Err(about(Action::Set, RequestTarget::Hash(name))(cause));
        };
        ethtool::set_hashed_fields(self.socket(), name.padded(), flow.of_hashes(), bits)
            .map_err(ioctl_failed(Action::Set, RequestTarget::Hash(name)))
    }

    /// Number of the queues that a hash or a rule can choose; `None` if the driver does not report it.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    #[doc(alias = "ETHTOOL_GRXRINGS")]
    pub fn steered_queues(&self, name: IfName) -> Result<Option<u32>, NetlinkError> {
        let queues = supported(ethtool::steered_queues(self.socket(), name.padded()));
        let queues = queues.map_err(ioctl_failed(Action::Get, RequestTarget::Channels(name)))?;
        Ok(queues.and_then(|queues| queues.try_into().ok()))
    }

    /// The rules of the device; `None` if its driver has none. Equals `ethtool -n NAME`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist.
    #[doc(alias("ETHTOOL_GRXCLSRLALL", "ntuple"))]
    pub fn flow_rules(&self, name: IfName) -> Result<Option<Vec<FlowRule>>, NetlinkError> {
        let rules = supported(ethtool::flow_rules(self.socket(), name.padded()));
        let rules = rules.map_err(ioctl_failed(Action::Get, RequestTarget::FlowRules(name)))?;
        let rule = |spec| FlowRule { spec };
        Ok(rules.map(|known| known.rules.into_iter().map(rule).collect()))
    }

    /// Adds a rule. Returns its number. A rule without a number gets a free one, the last if the driver does not choose.
    /// Equals `ethtool -N NAME flow-type …`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist, EOPNOTSUPP if its driver has no rules (or the feature
    /// `rx-ntuple-filter` is off), EINVAL if it has none like this.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_SRXCLSRLINS")]
    pub fn add_flow_rule(&self, name: IfName, rule: &FlowRule) -> Result<u32, NetlinkError> {
        let placed = self.placed(name, rule);
        let added = placed
            .and_then(|rule| ethtool::add_flow_rule(self.socket(), name.padded(), &rule.spec));
        added.map_err(ioctl_failed(Action::Add, RequestTarget::FlowRules(name)))
    }

    /// The rule with a number, unless the driver chooses it.
    fn placed(&self, name: IfName, rule: &FlowRule) -> io::Result<FlowRule> {
        if rule.location().is_some() {
            return Ok(*rule);
        }
        let known = ethtool::flow_rules(self.socket(), name.padded())?;
        if known.takes_any {
            return Ok(*rule);
        }
        let taken: BTreeSet<u32> = known.rules.iter().map(|rule| rule.location).collect();
        let places = u32::try_from(known.places).unwrap_or(0);
        // At most as many are taken as there are rules.
        let free = (0..places).rev().find(|place| !taken.contains(place));
        free.map(|place| rule.at(Some(place)))
            .ok_or_else(|| Errno::NOSPC.into())
    }

    /// Removes the rule with this number. Equals `ethtool -N NAME delete NUMBER`.
    ///
    /// # Errors
    /// `Cause::System` with ENODEV if the link does not exist, ENOENT or EINVAL if there is no such rule.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    #[doc(alias = "ETHTOOL_SRXCLSRLDEL")]
    pub fn remove_flow_rule(&self, name: IfName, location: u32) -> Result<(), NetlinkError> {
        ethtool::remove_flow_rule(self.socket(), name.padded(), location)
            .map_err(ioctl_failed(Action::Remove, RequestTarget::FlowRules(name)))
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.family.socket.descriptor()
    }
}
