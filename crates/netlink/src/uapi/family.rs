//! Address families.

constants! {
    AF_UNSPEC: u8 = 0;
    AF_INET: u8 = 2;
    AF_INET6: u8 = 10;
}
