//! Netlink itself: socket options, message types and flags, attribute flags, refusals.

constants! {
    SOL_NETLINK: i32 = 270;
    NETLINK_ADD_MEMBERSHIP: i32 = 1;
    NETLINK_CAP_ACK: i32 = 10;
    NETLINK_EXT_ACK: i32 = 11;
    NETLINK_GET_STRICT_CHK: i32 = 12;
    NLMSG_NOOP: u16 = 1;
    NLMSG_ERROR: u16 = 2;
    NLMSG_DONE: u16 = 3;
    NLMSG_OVERRUN: u16 = 4;
    NLMSG_MIN_TYPE: u16 = 16;
    NLM_F_REQUEST: u16 = 0x01;
    NLM_F_MULTI: u16 = 0x02;
    NLM_F_ACK: u16 = 0x04;
    NLM_F_ECHO: u16 = 0x08;
    NLM_F_DUMP_INTR: u16 = 0x10;
    NLM_F_DUMP_FILTERED: u16 = 0x20;
    NLM_F_DUMP: u16 = 0x300;
    NLM_F_CAPPED: u16 = 0x100;
    NLM_F_ACK_TLVS: u16 = 0x200;
    NLM_F_REPLACE: u16 = 0x100;
    NLM_F_EXCL: u16 = 0x200;
    NLM_F_BULK: u16 = 0x200;
    NLM_F_CREATE: u16 = 0x400;
    NLM_F_APPEND: u16 = 0x800;
    NLA_F_NESTED: u16 = 0x8000;
    NLA_F_NET_BYTEORDER: u16 = 0x4000;
    NLMSGERR_ATTR_MSG: u16 = 1;
    NLMSGERR_ATTR_OFFS: u16 = 2;
    NLMSGERR_ATTR_MISS_TYPE: u16 = 5;
    NLMSGERR_ATTR_MISS_NEST: u16 = 6;
}
