//! Address families and scopes.

constants! {
    AF_UNSPEC: u8 = 0;
    AF_INET: u8 = 2;
    AF_BRIDGE: u8 = 7;
    AF_INET6: u8 = 10;
    RT_SCOPE_UNIVERSE: u8 = 0;
    RT_SCOPE_SITE: u8 = 200;
    RT_SCOPE_LINK: u8 = 253;
    RT_SCOPE_HOST: u8 = 254;
    RT_SCOPE_NOWHERE: u8 = 255;
}
