//! Reads and changes the settings of a device.

use std::os::fd::{AsFd, OwnedFd};

use netlink::{Ethtool, FlowRule, FlowType, HashSteering, IfName, Netlink};

use super::error::SteeringError;
use super::setting::{Setting, Table};

/// A device with receive steering. It keeps working in its network namespace when the thread enters another one.
#[derive(Debug)]
pub struct SteeringDevice {
    link: IfName,
    index: u32,
    ethtool: Ethtool,
    socket: OwnedFd,
}

impl SteeringDevice {
    /// Opens a handle on interface `link` of the calling thread's network namespace.
    ///
    /// # Errors
    /// [`SteeringError::Link`] with ENODEV if there is no such interface.
    pub fn open(link: &str) -> Result<Self, SteeringError> {
        let mut netlink = Netlink::open()?;
        let known = netlink.link_named(link)?;
        let socket = netlink.as_fd().try_clone_to_owned();
        let socket = socket.map_err(|source| SteeringError::Record {
            path: link.into(),
            source,
        })?;
        Ok(Self {
            link: known.ifname(),
            index: known.ifindex().0,
            ethtool: Ethtool::open()?,
            socket,
        })
    }

    /// Name of the interface.
    pub fn name(&self) -> String {
        self.link.to_string()
    }

    /// Index of the interface.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The handle below, and the name of the interface in its requests.
    pub fn ethtool(&mut self) -> (&mut Ethtool, IfName) {
        (&mut self.ethtool, self.link)
    }

    /// The present value that `setting` would replace. For numbers, all numbers of that kind that the driver has; for a rule, the
    /// rule that is equal except for its number, or `None` if there is no such rule.
    ///
    /// # Errors
    /// [`SteeringError::Unsupported`] if the driver has no such setting.
    pub fn present(&mut self, setting: &Setting) -> Result<Option<Setting>, SteeringError> {
        let link = self.link;
        let ethtool = &mut self.ethtool;
        let present = match setting {
            Setting::Feature { name, .. } => {
                let features = ethtool.features(link)?;
                let is_on = features.is_active(name);
                let is_known = is_on || features.is_changeable(name);
                is_known.then(|| Setting::Feature {
                    name: name.clone(),
                    is_on,
                })
            }
            Setting::Channels(_) => ethtool.channels(link)?.map(|mut all| {
                all.receive_max = None;
                all.transmit_max = None;
                all.other_max = None;
                all.combined_max = None;
                Setting::Channels(all)
            }),
            Setting::Rings(_) => ethtool.ring_sizes(link)?.map(|mut all| {
                all.receive_max = None;
                all.receive_mini_max = None;
                all.receive_jumbo_max = None;
                all.transmit_max = None;
                Setting::Rings(all)
            }),
            Setting::Coalescing(_) => ethtool.coalescing(link)?.map(Setting::Coalescing),
            Setting::HashFunction(_) => (ethtool.hash_steering(link)?)
                .and_then(|hash| hash.function)
                .map(Setting::HashFunction),
            Setting::HashKey(_) => (ethtool.hash_steering(link)?)
                .and_then(|hash| hash.key.filter(|key| !key.is_empty()))
                .map(Setting::HashKey),
            Setting::Table(_) => {
                (self.table()?).map(|queues| Setting::Table(Table::Queues(queues)))
            }
            Setting::HashedFields(flow, _) => (ethtool.hashed_fields(link, *flow)?)
                .map(|fields| Setting::HashedFields(*flow, fields)),
            Setting::Rule(rule) => {
                let Some(rules) = ethtool.flow_rules(link)? else {
                    return Err(self.unsupported(setting));
                };
                let known = rules.into_iter().find(|known| {
                    let location = rule.location().and(known.location());
                    known.at(location) == *rule
                });
                return Ok(known.map(Setting::Rule));
            }
        };
        match present {
            Some(present) => Ok(Some(present)),
            None => Err(self.unsupported(setting)),
        }
    }

    fn table(&mut self) -> Result<Option<Vec<u32>>, SteeringError> {
        let hash = self.ethtool.hash_steering(self.link)?;
        let table = hash.and_then(|hash| hash.table);
        Ok(table.filter(|table| !table.is_empty()))
    }

    /// Makes a setting. Returns what is in its place then, as [`present`](Self::present).
    ///
    /// # Errors
    /// [`SteeringError::Unsupported`] if the driver has no such setting, [`SteeringError::Declined`] if it ignored the change,
    /// [`SteeringError::Link`] if it refused.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    pub fn set(&mut self, setting: &Setting) -> Result<Setting, SteeringError> {
        let link = self.link;
        let ethtool = &mut self.ethtool;
        let hash = HashSteering::default();
        match setting {
            Setting::Feature { name, is_on } => ethtool.set_feature(link, name, *is_on)?,
            Setting::Channels(set) => ethtool.set_channels(link, set)?,
            Setting::Rings(set) => ethtool.set_ring_sizes(link, set)?,
            Setting::Coalescing(set) => ethtool.set_coalescing(link, set)?,
            Setting::HashFunction(function) => {
                ethtool.set_hash_steering(link, &hash.function(*function))?;
            }
            Setting::HashKey(key) => ethtool.set_hash_steering(link, &hash.key(key.clone()))?,
            Setting::Table(table) => {
                let entries = self
                    .table()?
                    .ok_or_else(|| self.unsupported(setting))?
                    .len();
                // An empty table is the driver's own.
                let queues = table.queues(entries).unwrap_or_default();
                self.ethtool.set_hash_steering(link, &hash.table(queues))?;
            }
            Setting::HashedFields(flow, fields) => {
                ethtool.set_hashed_fields(link, *flow, fields)?;
            }
            Setting::Rule(rule) => {
                let location = ethtool.add_flow_rule(link, rule)?;
                return Ok(Setting::Rule(rule.at(Some(location))));
            }
        }
        let made = self.present(setting)?;
        let made = made.ok_or_else(|| self.unsupported(setting))?;
        let is_switch = matches!(setting, Setting::Feature { .. });
        if is_switch && made != *setting {
            return Err(SteeringError::Declined {
                link: self.name(),
                setting: setting.to_string(),
            });
        }
        Ok(made)
    }

    /// Restores what [`present`](Self::present) was before [`set`](Self::set) made `made`.
    pub(super) fn restore(
        &mut self,
        former: Option<&Setting>,
        made: &Setting,
    ) -> Result<(), SteeringError> {
        match (former, made) {
            (Some(former), _) => self.set(former).map(drop),
            (None, Setting::Rule(rule)) => match rule.location() {
                Some(location) => Ok(self.ethtool.remove_flow_rule(self.link, location)?),
                None => Ok(()),
            },
            (None, _) => Ok(()),
        }
    }

    /// What restores `present`: the driver's own table stays its own, and grows with the queues.
    pub(super) fn to_restore(&self, present: Setting) -> Result<Setting, SteeringError> {
        let Setting::Table(Table::Queues(queues)) = &present else {
            return Ok(present);
        };
        let count = self.ethtool.steered_queues(self.link)?;
        let usual = count.and_then(|count| Table::Equal(count).queues(queues.len()));
        Ok(if usual.as_ref() == Some(queues) {
            Setting::Table(Table::Default)
        } else {
            present
        })
    }

    /// What `setting` will be in this device, as [`present`](Self::present) returns it, if that is known before.
    pub(super) fn expected(setting: &Setting, present: Option<&Setting>) -> Setting {
        match (setting, present) {
            (Setting::Channels(set), Some(Setting::Channels(all))) => {
                Setting::Channels(merged(all, set))
            }
            (Setting::Rings(set), Some(Setting::Rings(all))) => Setting::Rings(merged(all, set)),
            (Setting::Coalescing(set), Some(Setting::Coalescing(all))) => {
                Setting::Coalescing(merged(all, set))
            }
            (Setting::Table(table), Some(Setting::Table(Table::Queues(now)))) => {
                match table.queues(now.len()) {
                    Some(queues) => Setting::Table(Table::Queues(queues)),
                    None => setting.clone(),
                }
            }
            _ => setting.clone(),
        }
    }

    /// The hash of received packets; `None` if the driver has none.
    ///
    /// # Errors
    /// [`SteeringError::Link`] if the interface is gone.
    pub fn hash(&self) -> Result<Option<HashSteering>, SteeringError> {
        Ok(self.ethtool.hash_steering(self.link)?)
    }

    /// The fields of packets that the hash covers, by type, for the types that the driver knows.
    ///
    /// # Errors
    /// [`SteeringError::Link`] if the interface is gone.
    pub fn hashed_fields(&self) -> Result<Vec<(FlowType, String)>, SteeringError> {
        let mut known = Vec::new();
        for flow in FlowType::ALL {
            if let Some(fields) = self.ethtool.hashed_fields(self.link, flow)? {
                known.push((flow, fields));
            }
        }
        Ok(known)
    }

    /// The rules of the device; `None` if its driver has none.
    ///
    /// # Errors
    /// [`SteeringError::Link`] if the interface is gone.
    pub fn rules(&self) -> Result<Option<Vec<FlowRule>>, SteeringError> {
        Ok(self.ethtool.flow_rules(self.link)?)
    }

    fn unsupported(&self, setting: &Setting) -> SteeringError {
        SteeringError::Unsupported {
            link: self.name(),
            setting: setting.to_string(),
        }
    }

    /// Number of the interface's network namespace; 0 before Linux 5.14.
    pub(super) fn namespace_cookie(&self) -> u64 {
        abi::socket::namespace_cookie(self.socket.as_fd()).unwrap_or(0)
    }
}

/// `all`, with the fields of `change`.
fn merged<T: netlink::schema::AttributeSet + Clone>(all: &T, change: &T) -> T {
    let mut merged = all.clone();
    merged.merge(change.clone());
    merged
}
