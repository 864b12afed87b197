//! Routes.

constants! {
    RTNLGRP_IPV4_ROUTE: u32 = 7;
    RTNLGRP_IPV6_ROUTE: u32 = 11;
    RTM_NEWROUTE: u16 = 24;
    RTM_DELROUTE: u16 = 25;
    RTA_DST: u16 = 1;
    RTA_OIF: u16 = 4;
    RTA_GATEWAY: u16 = 5;
    RTA_TABLE: u16 = 15;
    RTN_LOCAL: u8 = 2;
}
