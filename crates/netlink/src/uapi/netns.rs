//! Numbers of namespaces.

constants! {
    RTM_NEWNSID: u16 = 88;
    RTM_DELNSID: u16 = 89;
    RTM_GETNSID: u16 = 90;
    RTNLGRP_NSID: u32 = 28;
    NETNSA_NSID: u16 = 1;
    NETNSA_PID: u16 = 2;
    NETNSA_FD: u16 = 3;
    NETNSA_TARGET_NSID: u16 = 4;
    NETNSA_CURRENT_NSID: u16 = 5;
}
