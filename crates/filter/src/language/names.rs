//! Names of 802.11 frame types and of LLC commands.

/// 802.11 frame types, in the place of the frame control byte.
pub(super) const WLAN_TYPES: &[(&str, u8)] = &[
    ("mgt", 0x00),
    ("management", 0x00),
    ("ctl", 0x04),
    ("control", 0x04),
    ("data", 0x08),
];

/// 802.11 frame subtypes: name, type, subtype.
pub(super) const WLAN_SUBTYPES: &[(&str, u8, u8)] = &[
    ("assocreq", 0x00, 0x00),
    ("assoc-req", 0x00, 0x00),
    ("assocresp", 0x00, 0x10),
    ("assoc-resp", 0x00, 0x10),
    ("reassocreq", 0x00, 0x20),
    ("reassoc-req", 0x00, 0x20),
    ("reassocresp", 0x00, 0x30),
    ("reassoc-resp", 0x00, 0x30),
    ("probereq", 0x00, 0x40),
    ("probe-req", 0x00, 0x40),
    ("proberesp", 0x00, 0x50),
    ("probe-resp", 0x00, 0x50),
    ("beacon", 0x00, 0x80),
    ("atim", 0x00, 0x90),
    ("disassoc", 0x00, 0xa0),
    ("disassociation", 0x00, 0xa0),
    ("auth", 0x00, 0xb0),
    ("authentication", 0x00, 0xb0),
    ("deauth", 0x00, 0xc0),
    ("deauthentication", 0x00, 0xc0),
    ("bar", 0x04, 0x80),
    ("ba", 0x04, 0x90),
    ("ps-poll", 0x04, 0xa0),
    ("pspoll", 0x04, 0xa0),
    ("rts", 0x04, 0xb0),
    ("cts", 0x04, 0xc0),
    ("ack", 0x04, 0xd0),
    ("cf-end", 0x04, 0xe0),
    ("cf-end-ack", 0x04, 0xf0),
    ("data", 0x08, 0x00),
    ("data-cf-ack", 0x08, 0x10),
    ("data-cf-poll", 0x08, 0x20),
    ("data-cf-ack-poll", 0x08, 0x30),
    ("null", 0x08, 0x40),
    ("cf-ack", 0x08, 0x50),
    ("cf-poll", 0x08, 0x60),
    ("cf-ack-poll", 0x08, 0x70),
    ("qos-data", 0x08, 0x80),
    ("qos-data-cf-ack", 0x08, 0x90),
    ("qos-data-cf-poll", 0x08, 0xa0),
    ("qos-data-cf-ack-poll", 0x08, 0xb0),
    ("qos", 0x08, 0xc0),
    ("qos-cf-poll", 0x08, 0xe0),
    ("qos-cf-ack-poll", 0x08, 0xf0),
];

/// Whether a frame goes to or from the distribution system.
pub(super) const WLAN_DIRECTIONS: &[(&str, u8)] =
    &[("nods", 0), ("tods", 1), ("fromds", 2), ("dstods", 3)];

/// LLC supervisory commands.
pub(super) const LLC_SUPERVISORY: &[(&str, u8)] = &[("rr", 0x01), ("rnr", 0x05), ("rej", 0x09)];

/// LLC unnumbered commands.
pub(super) const LLC_UNNUMBERED: &[(&str, u8)] = &[
    ("ui", 0x03),
    ("ua", 0x63),
    ("disc", 0x43),
    ("dm", 0x0f),
    ("sabme", 0x6f),
    ("test", 0xe3),
    ("xid", 0xaf),
    ("frmr", 0x87),
];

/// The value of `name` in `table`, in either case.
pub(super) fn value(table: &[(&str, u8)], name: &str) -> Option<u8> {
    let row = table.iter().find(|row| row.0.eq_ignore_ascii_case(name));
    row.map(|row| row.1)
}

/// The name of `value` in `table`.
pub(super) fn name(table: &'static [(&str, u8)], value: u8) -> Option<&'static str> {
    let row = table.iter().find(|row| row.1 == value);
    row.map(|row| row.0)
}
