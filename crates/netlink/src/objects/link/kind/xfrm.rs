//! IPsec interfaces.

use super::kinds::KindSettings;
use crate::schema::{Flag, NonZero, attribute_set};
use crate::values::interface::IfIndex;

attribute_set! {
    /// An interface for IPsec: its packets are transformed by the policies and states with its ID.
    ///
    /// Equals `ip link add NAME type xfrm if_id ID [dev LINK]`.
    ///
    /// # Source
    /// `xfrmi_policy` and `xfrmi_newlink`, net/xfrm/xfrm_interface_core.c.
    pub struct Xfrm {
        /// The underlying link.
        "dev" link: IfIndex as NonZero = IFLA_XFRM_LINK;
        /// Its ID. Required at creation, unless `external` is set.
        "if_id" if_id: u32 = IFLA_XFRM_IF_ID;
        /// Whether routes and filters provide the ID and the link of each packet. Since Linux 6.1.
        "external" external: bool as Flag = IFLA_XFRM_COLLECT_METADATA;
    }
}

impl KindSettings for Xfrm {}
