//! Addresses.

constants! {
    RTNLGRP_IPV4_IFADDR: u32 = 5;
    RTM_NEWADDR: u16 = 20;
    RTM_DELADDR: u16 = 21;
    RTM_GETADDR: u16 = 22;
    IFA_ADDRESS: u16 = 1;
    IFA_LOCAL: u16 = 2;
    IFA_FLAGS: u16 = 8;
    IFA_F_NODAD: u32 = 0x02;
    IFA_F_TENTATIVE: u32 = 0x40;
}
