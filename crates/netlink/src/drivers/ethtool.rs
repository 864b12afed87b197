//! The ethtool family of generic netlink: settings of drivers.

use super::family::Family;
use crate::codec::{Attribute, Malformed, Request};
use crate::error::{Action, Cause, InvalidRequest, NetlinkError, RequestTarget};
use crate::schema::{AttributeSet, attribute_path, attribute_set};
use crate::uapi::{
    ETHTOOL_A_BITSET_BIT_NAME, ETHTOOL_A_BITSET_BIT_VALUE, ETHTOOL_A_BITSET_BITS,
    ETHTOOL_A_BITSET_BITS_BIT, ETHTOOL_A_BITSET_NOMASK, ETHTOOL_A_FEATURES_ACTIVE,
    ETHTOOL_A_FEATURES_HEADER, ETHTOOL_A_FEATURES_HW, ETHTOOL_A_FEATURES_NOCHANGE,
    ETHTOOL_A_FEATURES_WANTED, ETHTOOL_A_HEADER_DEV_NAME, ETHTOOL_A_TSCONFIG_RX_FILTERS,
    ETHTOOL_A_TSCONFIG_TX_TYPES, ETHTOOL_A_TSINFO_PHC_INDEX, ETHTOOL_A_TSINFO_RX_FILTERS,
    ETHTOOL_A_TSINFO_TIMESTAMPING, ETHTOOL_A_TSINFO_TX_TYPES, ETHTOOL_MSG_CHANNELS_GET,
    ETHTOOL_MSG_CHANNELS_SET, ETHTOOL_MSG_COALESCE_GET, ETHTOOL_MSG_COALESCE_SET,
    ETHTOOL_MSG_FEATURES_GET, ETHTOOL_MSG_FEATURES_SET, ETHTOOL_MSG_RINGS_GET,
    ETHTOOL_MSG_RINGS_SET, ETHTOOL_MSG_TSCONFIG_GET, ETHTOOL_MSG_TSCONFIG_SET,
    ETHTOOL_MSG_TSINFO_GET,
};
use crate::values::interface::IfName;

// `linux/ethtool_netlink.h`, which systems with older headers lack.
const ETHTOOL_MSG_RSS_GET: u8 = 38;
const ETHTOOL_A_RSS_HFUNC: u16 = 3;

/// Driver settings of the links in one network namespace.
///
/// Holds one socket; a query costs three system calls. Values that a driver does not report are `None`.
///
/// # Privileges
/// None to query; `CAP_NET_ADMIN` in the user namespace that owns the network namespace to change.
/// # Kernel
/// Linux 5.6, `features`, `ring_sizes` and the others by 5.8.
/// # Source
/// Documentation/networking/ethtool-netlink.rst.
#[derive(Debug)]
pub struct Ethtool {
    pub(super) family: Family,
}

/// The time stamping capabilities of a device and its driver, by the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeStamping {
    /// `hardware-receive`, `software-receive` … (`SOF_TIMESTAMPING_*`).
    pub capabilities: Vec<String>,
    /// Transmit time stamping modes: `on`, `onestep-sync` … (`HWTSTAMP_TX_*`).
    pub transmit: Vec<String>,
    /// Receive filters: `all`, `ptpv2-l4-event` … (`HWTSTAMP_FILTER_*`).
    pub receive_filters: Vec<String>,
    /// Number of the hardware clock, e.g. 0 for `/dev/ptp0`.
    pub clock: Option<u32>,
}

/// How a device computes the hash of a received packet.
#[doc(alias = "ETH_RSS_HASH")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashFunction {
    /// Toeplitz.
    Toeplitz,
    /// XOR.
    Xor,
    /// CRC-32.
    Crc32,
}

impl HashFunction {
    /// The function with this bit (`ETH_RSS_HASH_*`).
    pub(super) fn of_bits(bits: u32) -> Option<Self> {
        match bits {
            1 => Some(Self::Toeplitz),
            2 => Some(Self::Xor),
            4 => Some(Self::Crc32),
            _ => None,
        }
    }

    /// Its bit.
    pub(super) fn bits(self) -> u8 {
        match self {
            Self::Toeplitz => 1,
            Self::Xor => 2,
            Self::Crc32 => 4,
        }
    }

    /// Its name in ethtool(8).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Toeplitz => "toeplitz",
            Self::Xor => "xor",
            Self::Crc32 => "crc32",
        }
    }

    /// The function with this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Toeplitz, Self::Xor, Self::Crc32];
        all.into_iter().find(|function| function.name() == name)
    }
}

impl Ethtool {
    /// Opens a handle on the namespace of the calling thread.
    ///
    /// # Errors
    /// `Cause::Refused` with ENOENT if the kernel does not have the family.
    pub fn open() -> Result<Self, NetlinkError> {
        let family = Family::open("ethtool")?;
        Ok(Self { family })
    }

    /// Time stamping capabilities. Equals `ethtool -T NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist.
    #[doc(alias = "ETHTOOL_MSG_TSINFO_GET")]
    pub fn time_stamping(&mut self, name: IfName) -> Result<Option<TimeStamping>, NetlinkError> {
        self.get(
            ETHTOOL_MSG_TSINFO_GET,
            name,
            RequestTarget::TimeStamping(name),
            take_stamping,
        )
    }

    /// How the device computes the hash of a received packet, by which it chooses the queue. `None` if the driver does not
    /// report it. Equals `ethtool -x NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist.
    /// # Kernel
    /// Linux 6.2.
    #[doc(alias = "ETHTOOL_MSG_RSS_GET")]
    pub fn hash_function(&mut self, name: IfName) -> Result<Option<HashFunction>, NetlinkError> {
        let take = |bits: &mut u32, attribute: Attribute<'_>| {
            if attribute.kind == ETHTOOL_A_RSS_HFUNC {
                *bits = attribute.u32()?;
            }
            Ok(())
        };
        let bits = self.get(ETHTOOL_MSG_RSS_GET, name, RequestTarget::Hash(name), take)?;
        Ok(bits.and_then(HashFunction::of_bits))
    }

    fn get<T: Default>(
        &mut self,
        command: u8,
        name: IfName,
        subject: RequestTarget,
        take: impl Fn(&mut T, Attribute<'_>) -> Result<(), Malformed>,
    ) -> Result<Option<T>, NetlinkError> {
        let mut request = self.family.request(command);
        header(&mut request, name);
        let unsupported = rustix::io::Errno::OPNOTSUPP.raw_os_error();
        match self.family.get(request, take) {
            Ok(told) => Ok(Some(told)),
            Err(cause) => match about(Action::Get, subject)(cause) {
                error if error.errno() == Some(unsupported) => Ok(None),
                error => Err(error),
            },
        }
    }
}

pub(super) fn about(action: Action, subject: RequestTarget) -> impl FnOnce(Cause) -> NetlinkError {
    NetlinkError::about(action, subject)
}

/// Appends the link, which is attribute 1 in all requests of the family.
fn header(request: &mut Request, name: IfName) {
    request.nested(ETHTOOL_A_FEATURES_HEADER, &[], |header| {
        header.text(ETHTOOL_A_HEADER_DEV_NAME, name.as_bytes());
    });
}

fn take_stamping(stamps: &mut TimeStamping, attribute: Attribute<'_>) -> Result<(), Malformed> {
    match attribute.kind {
        ETHTOOL_A_TSINFO_TIMESTAMPING => stamps.capabilities = bitset_names(attribute)?,
        ETHTOOL_A_TSINFO_TX_TYPES => stamps.transmit = bitset_names(attribute)?,
        ETHTOOL_A_TSINFO_RX_FILTERS => stamps.receive_filters = bitset_names(attribute)?,
        ETHTOOL_A_TSINFO_PHC_INDEX => stamps.clock = Some(attribute.u32()?),
        _ => {}
    }
    Ok(())
}

/// The names of the bits that are set.
///
/// # Source
/// Documentation/networking/ethtool-netlink.rst, "Bit sets".
fn bitset_names(set: Attribute<'_>) -> Result<Vec<String>, Malformed> {
    let mut names = Vec::new();
    // Without a mask the bits that are listed are those that are set.
    let mut listed_is_set = false;
    for part in set.attributes() {
        let part = part?;
        match part.kind {
            ETHTOOL_A_BITSET_NOMASK => listed_is_set = true,
            ETHTOOL_A_BITSET_BITS => {
                for bit in part.attributes() {
                    let (name, is_set) = decode_bit(bit?)?;
                    if is_set || listed_is_set {
                        names.extend(name);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn decode_bit(bit: Attribute<'_>) -> Result<(Option<String>, bool), Malformed> {
    let (mut name, mut is_set) = (None, false);
    for part in bit.attributes() {
        let part = part?;
        match part.kind {
            ETHTOOL_A_BITSET_BIT_NAME => name = Some(part.text()),
            ETHTOOL_A_BITSET_BIT_VALUE => is_set = true,
            _ => {}
        }
    }
    Ok((name, is_set))
}

/// Appends a set that switches the named bits only.
fn bitset_change(request: &mut Request, kind: u16, bits: &[(&str, bool)]) {
    request.nested(kind, &[], |set| bitset_put(set, bits));
}

/// Appends a set in which only the bit `name` is set.
fn bitset_only(request: &mut Request, kind: u16, name: &str) {
    request.nested(kind, &[], |set| {
        set.attribute(ETHTOOL_A_BITSET_NOMASK, &[]);
        bitset_put(set, &[(name, true)]);
    });
}

fn bitset_put(set: &mut Request, bits: &[(&str, bool)]) {
    set.nested(ETHTOOL_A_BITSET_BITS, &[], |list| {
        for (name, on) in bits {
            list.nested(ETHTOOL_A_BITSET_BITS_BIT, &[], |bit| {
                // No name in the kernel is longer.
                let name = name.as_bytes();
                bit.text(ETHTOOL_A_BITSET_BIT_NAME, &name[..name.len().min(128)]);
                if *on {
                    bit.attribute(ETHTOOL_A_BITSET_BIT_VALUE, &[]);
                }
            });
        }
    });
}

/// Maximum number of features in one request; the kernel has about 70.
const MAX_FEATURES: usize = 256;

/// The features of a link, by the kernel's names (`rx-gro`, `tx-tcp-segmentation` …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// The features that are on.
    pub active: Vec<String>,
    /// The features that can be switched.
    pub changeable: Vec<String>,
}

impl Features {
    /// Whether the feature called `name` is on. Unknown features are off.
    pub fn is_active(&self, name: &str) -> bool {
        self.active.iter().any(|active| active == name)
    }

    /// Whether the feature called `name` can be switched.
    pub fn is_changeable(&self, name: &str) -> bool {
        self.changeable.iter().any(|known| known == name)
    }
}

/// The features as reported.
#[derive(Default)]
struct FeatureReply {
    active: Vec<String>,
    switchable: Vec<String>,
    fixed: Vec<String>,
}

impl Ethtool {
    /// The features of a link. Equals `ethtool -k NAME`, with the kernel's names.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist.
    #[doc(alias = "ETHTOOL_MSG_FEATURES_GET")]
    pub fn features(&mut self, name: IfName) -> Result<Features, NetlinkError> {
        let mut request = self.family.request(ETHTOOL_MSG_FEATURES_GET);
        header(&mut request, name);
        let told = self
            .family
            .get(request, |told: &mut FeatureReply, attribute| {
                match attribute.kind {
                    ETHTOOL_A_FEATURES_ACTIVE => told.active = bitset_names(attribute)?,
                    ETHTOOL_A_FEATURES_HW => told.switchable = bitset_names(attribute)?,
                    ETHTOOL_A_FEATURES_NOCHANGE => told.fixed = bitset_names(attribute)?,
                    _ => {}
                }
                Ok(())
            });
        let mut told = told.map_err(about(Action::Get, RequestTarget::Features(name)))?;
        told.switchable.retain(|name| !told.fixed.contains(name));
        Ok(Features {
            active: told.active,
            changeable: told.switchable,
        })
    }

    /// Requests a change of a feature. The driver may decline; [`features`](Self::features) returns the result. Equals `ethtool -K NAME FEATURE on|off`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist, EOPNOTSUPP if the feature does not exist.
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

    /// As [`set_feature`](Self::set_feature), for up to 256 features at once. Other features do not change. Equals
    /// `ethtool -K NAME FEATURE on|off FEATURE on|off …`.
    ///
    /// # Errors
    /// As [`set_feature`](Self::set_feature); no feature changes then. `Cause::Invalid` with more than 256.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    pub fn set_features(
        &mut self,
        name: IfName,
        features: &[(&str, bool)],
    ) -> Result<(), NetlinkError> {
        let about = about(Action::Set, RequestTarget::Features(name));
        if features.len() > MAX_FEATURES {
            let reason = format!("{} features exceed the maximum of 256", features.len());
            return Err(about(Cause::Invalid(InvalidRequest::new(reason))));
        }
        let mut request = self.family.request(ETHTOOL_MSG_FEATURES_SET);
        header(&mut request, name);
        bitset_change(&mut request, ETHTOOL_A_FEATURES_WANTED, features);
        let told = self.family.socket.change(&mut request);
        told.map_err(about)
    }
}

/// Length of `struct genlmsghdr`.
const HEADER_BYTES: usize = 4;

attribute_set! {
    /// Ring sizes of a device, in descriptors. Maxima are read-only.
    pub struct RingSizes {
        /// Of each receive queue.
        "rx" receive: u32 = ETHTOOL_A_RINGS_RX;
        receive_max: u32 = ETHTOOL_A_RINGS_RX_MAX;
        /// Of each receive queue, for small packets.
        "rx-mini" receive_mini: u32 = ETHTOOL_A_RINGS_RX_MINI;
        receive_mini_max: u32 = ETHTOOL_A_RINGS_RX_MINI_MAX;
        /// Of each receive queue, for large packets.
        "rx-jumbo" receive_jumbo: u32 = ETHTOOL_A_RINGS_RX_JUMBO;
        receive_jumbo_max: u32 = ETHTOOL_A_RINGS_RX_JUMBO_MAX;
        /// Of each transmit queue.
        "tx" transmit: u32 = ETHTOOL_A_RINGS_TX;
        transmit_max: u32 = ETHTOOL_A_RINGS_TX_MAX;
        "rx-buf-len" receive_buffer_bytes: u32 = ETHTOOL_A_RINGS_RX_BUF_LEN;
    }
}

attribute_set! {
    /// Queues of a device; a combined queue receives and transmits. Maxima are read-only.
    pub struct Channels {
        /// Queues that only receive.
        "rx" receive: u32 = ETHTOOL_A_CHANNELS_RX_COUNT;
        receive_max: u32 = ETHTOOL_A_CHANNELS_RX_MAX;
        /// Queues that only transmit.
        "tx" transmit: u32 = ETHTOOL_A_CHANNELS_TX_COUNT;
        transmit_max: u32 = ETHTOOL_A_CHANNELS_TX_MAX;
        /// Other interrupts.
        "other" other: u32 = ETHTOOL_A_CHANNELS_OTHER_COUNT;
        other_max: u32 = ETHTOOL_A_CHANNELS_OTHER_MAX;
        /// Combined queues.
        "combined" combined: u32 = ETHTOOL_A_CHANNELS_COMBINED_COUNT;
        combined_max: u32 = ETHTOOL_A_CHANNELS_COMBINED_MAX;
    }
}

attribute_set! {
    /// Interrupt moderation of a device.
    pub struct Coalescing {
        /// Maximum delay of received packets in microseconds.
        "rx-usecs" receive_us: u32 = ETHTOOL_A_COALESCE_RX_USECS;
        /// Maximum number of received packets per interrupt.
        "rx-frames" receive_frames: u32 = ETHTOOL_A_COALESCE_RX_MAX_FRAMES;
        /// Maximum delay of transmitted packets in microseconds.
        "tx-usecs" transmit_us: u32 = ETHTOOL_A_COALESCE_TX_USECS;
        /// Maximum number of transmitted packets per interrupt.
        "tx-frames" transmit_frames: u32 = ETHTOOL_A_COALESCE_TX_MAX_FRAMES;
        /// Adaptive moderation of received packets.
        "adaptive-rx" adaptive: bool = ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX;
        /// Adaptive moderation of transmitted packets.
        "adaptive-tx" transmit_adaptive: bool = ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX;
    }
}

/// Generates the query and the change of settings; fields in braces are read-only.
macro_rules! settings {
    ($(
        $(#[$query_doc:meta])* $query:ident = $get:ident;
        $(#[$change_doc:meta])* $change:ident = $set:ident;
        $type:ident { $($read_only:ident),* }
    )*) => {
        impl Ethtool {$(
            $(#[$query_doc])*
            ///
            /// # Errors
            /// `Cause::Refused` with ENODEV if the link does not exist.
            #[doc = concat!("\n\n`", stringify!($get), "`.")]
            pub fn $query(&mut self, name: IfName) -> Result<Option<$type>, NetlinkError> {
                self.get($get, name, RequestTarget::$type(name), $type::decode_attribute)
            }

            $(#[$change_doc])*
            ///
            /// Fields that are `None` do not change.
            ///
            /// # Errors
            /// `Cause::Refused` with ENODEV if the link does not exist, EOPNOTSUPP if its driver does not support it,
            /// EINVAL above the maximum.
            /// # Privileges
            /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
            #[doc = concat!("\n\n`", stringify!($set), "`.")]
            pub fn $change(&mut self, name: IfName, settings: &$type) -> Result<(), NetlinkError> {
                let settings = $type { $($read_only: None,)* ..settings.clone() };
                self.change($set, name, &settings, RequestTarget::$type(name))
            }
        )*}
    };
}

settings! {
    /// Sizes of the device's rings. Equals `ethtool -g NAME`.
    ring_sizes = ETHTOOL_MSG_RINGS_GET;
    /// Changes the sizes of the device's rings. Equals `ethtool -G NAME …`.
    set_ring_sizes = ETHTOOL_MSG_RINGS_SET;
    RingSizes { receive_max, receive_mini_max, receive_jumbo_max, transmit_max }

    /// Queues of the device. Equals `ethtool -l NAME`.
    channels = ETHTOOL_MSG_CHANNELS_GET;
    /// Changes the number of the device's queues. Equals `ethtool -L NAME …`.
    set_channels = ETHTOOL_MSG_CHANNELS_SET;
    Channels { receive_max, transmit_max, other_max, combined_max }

    /// Interrupt moderation. Equals `ethtool -c NAME`.
    coalescing = ETHTOOL_MSG_COALESCE_GET;
    /// Changes interrupt moderation. Equals `ethtool -C NAME …`.
    set_coalescing = ETHTOOL_MSG_COALESCE_SET;
    Coalescing {}
}

impl Ethtool {
    fn change<T: AttributeSet>(
        &mut self,
        command: u8,
        name: IfName,
        said: &T,
        subject: RequestTarget,
    ) -> Result<(), NetlinkError> {
        let mut request = self.family.request(command);
        header(&mut request, name);
        said.encode_attributes(&mut request);
        let told = self
            .family
            .socket
            .change(&mut request)
            .map_err(|mut cause| {
                if let Cause::Refused(refusal) = &mut cause {
                    refusal.path =
                        attribute_path(refusal, request.bytes(), HEADER_BYTES, T::specs());
                }
                cause
            });
        told.map_err(about(Action::Set, subject))
    }
}

/// The active time stamping of a device, by the kernel's names. [`TimeStamping`] has its capabilities.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StampedPackets {
    /// Transmit mode: `off`, `on`, `onestep-sync` … (`HWTSTAMP_TX_*`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit: Option<String>,
    /// Receive filter: `none`, `all`, `ptpv2-event` … (`HWTSTAMP_FILTER_*`); a driver may stamp more
    /// than requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<String>,
}

impl Ethtool {
    /// The active time stamping; `None` if the driver does not report it.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist.
    /// # Kernel
    /// Linux 6.14.
    #[doc(alias = "ETHTOOL_MSG_TSCONFIG_GET")]
    pub fn stamped_packets(
        &mut self,
        name: IfName,
    ) -> Result<Option<StampedPackets>, NetlinkError> {
        let subject = RequestTarget::TimeStamping(name);
        self.get(ETHTOOL_MSG_TSCONFIG_GET, name, subject, take_stamped)
    }

    /// Changes the active time stamping. Fields that are `None` do not change.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist, EOPNOTSUPP without driver support, ERANGE if the
    /// mode is unsupported.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    /// # Kernel
    /// Linux 6.14.
    #[doc(alias = "ETHTOOL_MSG_TSCONFIG_SET")]
    pub fn set_stamped_packets(
        &mut self,
        name: IfName,
        packets: &StampedPackets,
    ) -> Result<(), NetlinkError> {
        let mut request = self.family.request(ETHTOOL_MSG_TSCONFIG_SET);
        header(&mut request, name);
        for (kind, value) in [
            (ETHTOOL_A_TSCONFIG_TX_TYPES, &packets.transmit),
            (ETHTOOL_A_TSCONFIG_RX_FILTERS, &packets.receive),
        ] {
            if let Some(value) = value {
                bitset_only(&mut request, kind, value);
            }
        }
        let told = self.family.socket.change(&mut request);
        told.map_err(about(Action::Set, RequestTarget::TimeStamping(name)))
    }
}

fn take_stamped(packets: &mut StampedPackets, attribute: Attribute<'_>) -> Result<(), Malformed> {
    let first = |attribute| bitset_names(attribute).map(|names| names.into_iter().next());
    match attribute.kind {
        ETHTOOL_A_TSCONFIG_TX_TYPES => packets.transmit = first(attribute)?,
        ETHTOOL_A_TSCONFIG_RX_FILTERS => packets.receive = first(attribute)?,
        _ => {}
    }
    Ok(())
}
