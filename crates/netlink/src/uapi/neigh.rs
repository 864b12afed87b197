//! Neighbours and their tables.

constants! {
    RTM_NEWNEIGH: u16 = 28;
    RTM_NEWNEIGHTBL: u16 = 64;
    RTM_GETNEIGHTBL: u16 = 66;
    NDTA_NAME: u16 = 1;
    NDTA_THRESH1: u16 = 2;
    NDTA_THRESH2: u16 = 3;
    NDTA_THRESH3: u16 = 4;
    NDTA_CONFIG: u16 = 5;
    NDA_DST: u16 = 1;
    NDA_LLADDR: u16 = 2;
    NUD_PERMANENT: u16 = 0x80;
}
