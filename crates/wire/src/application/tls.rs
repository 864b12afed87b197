//! TLS records.

use std::fmt;

use crate::escaped::{Escaped, u16_at};

/// Most bytes of a record, RFC 8446, 5.2, with the expansion that TLS 1.2 allows.
const MAX_RECORD: u16 = (1 << 14) + 2048;
/// Most printed bytes of a server name.
const NAME_BYTES: usize = 255;
/// Most printed bytes of one ALPN protocol.
const PROTOCOL_BYTES: usize = 32;

/// The start of a TLS record.
///
/// ```text
/// +---------------+---------------+---------------+---------------+
/// | content type  |     3         | minor version | length (hi)   |
/// +---------------+---------------+---------------+---------------+
/// | length (lo)   | of a handshake: message type, length (24), ...|
/// +---------------+-----------------------------------------------+
/// ```
///
/// `Display` prints `ClientHello sni example.com alpn h2,http/1.1`.
///
/// # Source
/// RFC 8446, 4 and 5.1; RFC 6066, 3 (server name); RFC 7301, 3.1 (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls<'a> {
    content: u8,
    body: &'a [u8],
}

impl<'a> Tls<'a> {
    /// Parses the record at the start of a TCP payload. `None` if it does not look like one.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[content, major, minor, hi, lo], body) = bytes.split_first_chunk()?;
        let len = u16::from_be_bytes([hi, lo]);
        let is_record = matches!(content, 20..=24) && major == 3 && minor <= 4;
        let is_record = is_record && (1..=MAX_RECORD).contains(&len);
        is_record.then(|| Self {
            content,
            body: body.get(..usize::from(len)).unwrap_or(body),
        })
    }

    /// The type of the handshake message: 1 is a ClientHello. `None` for other records, and for encrypted
    /// handshakes.
    pub fn handshake(&self) -> Option<u8> {
        let (&[kind, hi, mid, lo], _) = self.body.split_first_chunk()?;
        let len = u32::from_be_bytes([0, hi, mid, lo]);
        let is_plain = self.content == 22 && handshake_name(kind).is_some() && len <= 1 << 17;
        is_plain.then_some(kind)
    }

    /// The server name that a ClientHello asks for.
    pub fn server_name(&self) -> Option<&'a [u8]> {
        let list = self.extension(0)?;
        // List length (2), name type (1, 0 is a host name), name length (2), name.
        let len = usize::from(u16_at(list, 3)?);
        (*list.get(2)? == 0).then(|| list.get(5..5 + len))?
    }

    /// The application protocols that a ClientHello offers (ALPN), in its order.
    pub fn protocols(&self) -> impl Iterator<Item = &'a [u8]> {
        let list = self.extension(16).and_then(|list| list.get(2..));
        let mut rest = list.unwrap_or_default();
        std::iter::from_fn(move || {
            let (&len, after) = rest.split_first()?;
            let (name, after) = after.split_at_checked(usize::from(len))?;
            rest = after;
            Some(name)
        })
    }

    /// The data of an extension of a ClientHello.
    fn extension(&self, wanted: u16) -> Option<&'a [u8]> {
        if self.handshake() != Some(1) {
            return None;
        }
        // Message header (4), version (2), random (32).
        let rest = skip(self.body.get(38..)?, 1)?;
        let rest = skip(skip(rest, 2)?, 1)?;
        // The length of all extensions does not matter: the bytes end anyway.
        let mut rest = rest.get(2..)?;
        loop {
            let kind = u16_at(rest, 0)?;
            let (data, after) = rest
                .get(4..)?
                .split_at_checked(usize::from(u16_at(rest, 2)?))?;
            if kind == wanted {
                return Some(data);
            }
            rest = after;
        }
    }
}

/// `bytes` without the vector at their start, whose length takes `width` bytes.
fn skip(bytes: &[u8], width: usize) -> Option<&[u8]> {
    let len = match width {
        1 => usize::from(*bytes.first()?),
        _ => usize::from(u16_at(bytes, 0)?),
    };
    bytes.get(width + len..)
}

fn handshake_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "HelloRequest",
        1 => "ClientHello",
        2 => "ServerHello",
        4 => "NewSessionTicket",
        11 => "Certificate",
        12 => "ServerKeyExchange",
        13 => "CertificateRequest",
        14 => "ServerHelloDone",
        15 => "CertificateVerify",
        16 => "ClientKeyExchange",
        20 => "Finished",
        22 => "CertificateStatus",
        _ => return None,
    })
}

impl fmt::Display for Tls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = match self.content {
            20 => "ChangeCipherSpec",
            21 => "Alert",
            22 => "Handshake",
            23 => "ApplicationData",
            _ => "Heartbeat",
        };
        f.write_str(self.handshake().and_then(handshake_name).unwrap_or(content))?;
        if let Some(name) = self.server_name() {
            write!(f, " sni {}", Escaped::new(name, NAME_BYTES))?;
        }
        for (index, name) in self.protocols().take(8).enumerate() {
            f.write_str(if index == 0 { " alpn " } else { "," })?;
            write!(f, "{}", Escaped::new(name, PROTOCOL_BYTES))?;
        }
        Ok(())
    }
}
