//! PPP frames and Cisco HDLC.

use crate::error::{Truncated, split_header};

/// A PPP header: the protocol, behind the address and control bytes of HDLC framing if they are there.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------------+
/// | address 0xff  | control 0x03  |           protocol            |
/// +---------------+---------------+-------------------------------+
/// ```
///
/// Peers may agree to omit address and control, and to send a protocol below 256 as one byte. That byte is odd, and the
/// first byte of a longer one is even.
///
/// # Source
/// RFC 1661, 2 and 6.5; RFC 1662, 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ppp {
    protocol: u16,
    len: u8,
    is_sent: Option<bool>,
}

impl Ppp {
    /// Protocol of IPv4.
    pub const IPV4: u16 = 0x0021;
    /// Protocol of IPv6.
    pub const IPV6: u16 = 0x0057;
    /// Protocol of LCP, which opens a link.
    pub const LCP: u16 = 0xc021;
    /// Protocol of ECP, about encryption.
    pub const ECP: u16 = 0x8053;
    /// Protocol of CCP, about compression.
    pub const CCP: u16 = 0x80fd;
    /// Protocol of MPLS, unicast.
    pub const MPLS: u16 = 0x0281;
    /// Protocol of MPLS, multicast.
    pub const MPLS_MULTICAST: u16 = 0x0283;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &[u8], at: usize) -> Result<(Self, &[u8]), Truncated> {
        let (framing, rest) = match bytes {
            [0xff, 0x03, rest @ ..] => (2, rest),
            _ => (0, bytes),
        };
        if let [short, rest @ ..] = rest
            && short & 1 == 1
        {
            let protocol = u16::from(*short);
            let header = Self {
                protocol,
                len: framing + 1,
                is_sent: None,
            };
            return Ok((header, rest));
        }
        let (protocol, rest) = split_header::<2>("PPP", rest, at + usize::from(framing))?;
        let protocol = u16::from_be_bytes(*protocol);
        let header = Self {
            protocol,
            len: framing + 2,
            is_sent: None,
        };
        Ok((header, rest))
    }

    /// The same, for a frame that starts with a byte for its direction, as in `LINKTYPE_PPP_WITH_DIR`: 0 if the
    /// capturing host received the frame. That byte counts as part of the header.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split_with_direction(bytes: &[u8], at: usize) -> Result<(Self, &[u8]), Truncated> {
        let (&[direction], rest) = split_header("PPP direction", bytes, at)?;
        let (header, rest) = Self::split(rest, at + 1)?;
        let header = Self {
            protocol: header.protocol,
            len: header.len + 1,
            is_sent: Some(direction != 0),
        };
        Ok((header, rest))
    }

    /// Whether the capturing host sent the frame, if the frame says so.
    pub fn is_sent(&self) -> Option<bool> {
        self.is_sent
    }

    /// The protocol of the payload.
    pub fn protocol(&self) -> u16 {
        self.protocol
    }

    /// Length of the header in bytes: 1 to 4, and 1 for the direction.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub fn len(&self) -> usize {
        self.len.into()
    }

    /// The usual name of the protocol; empty if unknown.
    ///
    /// # Source
    /// IANA, Point-to-Point (PPP) Protocol Field Assignments.
    pub fn name(&self) -> &'static str {
        match self.protocol {
            Self::IPV4 => "IPv4",
            0x0023 => "OSI",
            0x002d => "VJ compressed TCP",
            0x002f => "VJ uncompressed TCP",
            0x003d => "multilink",
            Self::IPV6 => "IPv6",
            0x00fd => "compressed",
            Self::MPLS | Self::MPLS_MULTICAST => "MPLS",
            0x8021 => "IPCP",
            0x8023 => "OSICP",
            Self::ECP => "ECP",
            0x8057 => "IPv6CP",
            Self::CCP => "CCP",
            0x8281 => "MPLSCP",
            Self::LCP => "LCP",
            0xc023 => "PAP",
            0xc025 => "LQR",
            0xc223 => "CHAP",
            0xc227 => "EAP",
            _ => "",
        }
    }

    /// Whether the payload is a [`PppControl`] packet: LCP, or a control protocol of the network layer.
    pub fn is_control(&self) -> bool {
        self.protocol == Self::LCP || self.protocol >> 12 == 8
    }
}

/// The header of a packet of LCP, IPCP or another control protocol of PPP.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------------+
/// |     code      |  identifier   |            length             |
/// +---------------+---------------+-------------------------------+
/// ```
///
/// # Source
/// RFC 1661, 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PppControl<'frame>(&'frame [u8; 4]);

impl<'frame> PppControl<'frame> {
    /// Length of the header.
    pub const LEN: usize = 4;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("PPP control", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// What the packet does.
    pub fn code(&self) -> u8 {
        self.0[0]
    }

    /// Matches a reply with its request.
    pub fn identifier(&self) -> u8 {
        self.0[1]
    }

    /// Length of the packet with this header, in bytes.
    pub fn length(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// The name of the code, which depends on the protocol; empty if unknown.
    ///
    /// # Source
    /// RFC 1661, 5; RFC 1570, 2; RFC 1332, 2; RFC 1962, 3; RFC 1968, 3.
    pub fn code_name(&self, protocol: u16) -> &'static str {
        let is_lcp = protocol == Ppp::LCP;
        match self.code() {
            1 => "configure request",
            2 => "configure ack",
            3 => "configure nak",
            4 => "configure reject",
            5 => "terminate request",
            6 => "terminate ack",
            7 => "code reject",
            8 if is_lcp => "protocol reject",
            9 if is_lcp => "echo request",
            10 if is_lcp => "echo reply",
            11 if is_lcp => "discard request",
            12 if is_lcp => "identification",
            13 if is_lcp => "time remaining",
            14 if matches!(protocol, Ppp::CCP | Ppp::ECP) => "reset request",
            15 if matches!(protocol, Ppp::CCP | Ppp::ECP) => "reset ack",
            _ => "",
        }
    }
}

/// A Cisco HDLC header; a packet of the protocol follows.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------------+
/// | 0x0f or 0x8f  |       0       |      protocol (EtherType)     |
/// +---------------+---------------+-------------------------------+
/// ```
///
/// # Source
/// RFC 1547, 4.3.1; drivers/net/wan/hdlc_cisco.c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiscoHdlc<'frame>(&'frame [u8; 4]);

impl<'frame> CiscoHdlc<'frame> {
    /// Length of the header.
    pub const LEN: usize = 4;
    /// `protocol` of SLARP, which keeps the link alive.
    pub const SLARP: u16 = 0x8035;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Cisco HDLC", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Whether `address`, the first byte of a frame with HDLC framing, is one of Cisco's: unicast or multicast.
    pub fn is_address(address: u8) -> bool {
        matches!(address, 0x0f | 0x8f)
    }

    /// The protocol of the payload, an `EtherType` or one of Cisco's own numbers.
    pub fn protocol(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_header_is_split() {
        // RFC 1661, 6.5 and 6.6: with and without compression of the protocol, and of address and control.
        let forms: [(&[u8], u16, usize); 4] = [
            (&[0xff, 0x03, 0x00, 0x21, 0x45], 0x21, 4),
            (&[0xff, 0x03, 0x21, 0x45], 0x21, 3),
            (&[0xc0, 0x21, 0x45], 0xc021, 2),
            (&[0x57, 0x45], 0x57, 1),
        ];
        for (bytes, protocol, len) in forms {
            let (header, rest) = Ppp::split(bytes, 0).expect("a header");
            assert_eq!((header.protocol(), header.len()), (protocol, len));
            assert_eq!(rest, [0x45]);
        }
        for (short, need_at) in [(&[][..], 0), (&[0xff, 0x03], 2), (&[0xff, 0x03, 0xc0], 2)] {
            let error = Ppp::split(short, 0).expect_err("too short");
            assert_eq!((error.layer, error.at), ("PPP", need_at));
        }
    }

    #[test]
    fn only_control_protocols_have_a_code() {
        let is_control = |bytes: &[u8]| Ppp::split(bytes, 0).expect("a header").0.is_control();
        assert!(is_control(&[0xc0, 0x21]) && is_control(&[0x80, 0x21]));
        assert!(!is_control(&[0x00, 0x21]) && !is_control(&[0xc2, 0x23]));
    }
}
