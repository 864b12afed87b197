//! `rpcap://[USER[:PASSWORD]@]HOST[:PORT]/IF`.

use std::fmt;

use tapline::rpcap::PORT;

use crate::failure::{Exit, Failure};

const SCHEME: &str = "rpcap://";

/// The same with TLS.
const TLS_SCHEME: &str = "rpcaps://";

/// The parts of a URL. `Debug` and errors show neither user nor password.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    pub user: Option<Vec<u8>>,
    pub password: Option<Vec<u8>>,
    pub host: String,
    pub port: u16,
    /// Empty if the URL names only a host.
    pub interface: String,
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Without user and password.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            port,
            interface,
            ..
        } = self;
        if host.contains(':') {
            write!(f, "{SCHEME}[{host}]:{port}/{interface}")
        } else {
            write!(f, "{SCHEME}{host}:{port}/{interface}")
        }
    }
}

impl Url {
    /// Whether a name is meant as a URL.
    pub fn is_one(text: &str) -> bool {
        [SCHEME, TLS_SCHEME]
            .iter()
            .any(|scheme| text.starts_with(scheme))
    }

    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            let line = format!("{why}: use rpcap://[USER@]HOST[:PORT]/IF");
            Failure::new(Exit::Usage, line)
        };
        let Some(rest) = text.strip_prefix(SCHEME) else {
            let line = "rpcap with TLS (rpcaps://) is not supported (use an SSH tunnel, or tapline over SSH)";
            return Err(Failure::new(Exit::Usage, line));
        };
        let (place, interface) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = match place.rsplit_once('@') {
            Some((who, place)) => (Some(who), place),
            None => (None, place),
        };
        let (user, password) = match who.map(|who| who.split_once(':').ok_or(who)) {
            None => (None, None),
            Some(Ok((user, password))) => (Some(user), Some(password)),
            Some(Err(user)) => (Some(user), None),
        };
        let plain = |text: &str| decoded(text).ok_or_else(|| wrong("wrong escape in the URL"));
        let (host, port) = match place
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
        {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or("no port"))),
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.is_empty() {
            return Err(wrong("no host in the URL"));
        }
        let port = match port {
            None => PORT,
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().map_err(|_| wrong("wrong port in the URL"))?
            }
            Some(_) => return Err(wrong("wrong port in the URL")),
        };
        let interface = String::from_utf8(plain(interface)?);
        Ok(Self {
            user: user.map(plain).transpose()?,
            password: password.map(plain).transpose()?,
            host: host.to_owned(),
            port,
            interface: interface.map_err(|_| wrong("wrong interface in the URL"))?,
        })
    }
}

/// The text without `%xx` escapes.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        out.push((high << 4 | low) as u8);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_their_parts() {
        for (text, user, password, host, port, interface) in [
            ("rpcap://host/eth0", None, None, "host", 2002, "eth0"),
            ("rpcap://host", None, None, "host", 2002, ""),
            ("rpcap://host:3/", None, None, "host", 3, ""),
            ("rpcap://[fd00::1]/lo", None, None, "fd00::1", 2002, "lo"),
            ("rpcap://[::1]:9/lo", None, None, "::1", 9, "lo"),
            ("rpcap://me@h/lo", Some("me"), None, "h", 2002, "lo"),
            (
                "rpcap://me:a%40b:c@h/lo",
                Some("me"),
                Some("a@b:c"),
                "h",
                2002,
                "lo",
            ),
            (
                "rpcap://me:a@b@h/e%2f0",
                Some("me"),
                Some("a@b"),
                "h",
                2002,
                "e/0",
            ),
        ] {
            let bytes = |text: &str| text.as_bytes().to_vec();
            let url = Url::parse(text).expect(text);
            let expected = Url {
                user: user.map(bytes),
                password: password.map(bytes),
                host: host.to_owned(),
                port,
                interface: interface.to_owned(),
            };
            assert!(url == expected, "{text}: {url:?}");
        }
    }

    #[test]
    fn wrong_urls_are_refused_without_their_password() {
        for text in [
            "rpcap://me:secret@/lo",
            "rpcap://me:secret@h:x/lo",
            "rpcap://me:secret@h:65536/lo",
            "rpcap://me:secret%4@h/lo",
            "rpcap://me:secret%zz@h/lo",
            "rpcap://me:secret@[::1]9/lo",
            "rpcap://me:secret@h/%ff",
            "rpcaps://me:secret@h/lo",
        ] {
            let refused = Url::parse(text).expect_err(text);
            assert_eq!(refused.exit, Exit::Usage, "{text}");
            assert!(!refused.line.contains("secret"), "{}", refused.line);
        }
        let url = Url::parse("rpcap://me:secret@h/lo").expect("a URL");
        assert_eq!(
            format!("{url} {url:?}"),
            "rpcap://h:2002/lo rpcap://h:2002/lo"
        );
    }
}
