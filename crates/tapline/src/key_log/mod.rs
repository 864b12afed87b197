//! Key logs of TLS, as programs write them for `SSLKEYLOGFILE`.

mod follow;

use thiserror::Error;

pub use follow::{FollowedKeys, KeyLogCounts};

/// `secrets_type` of a Decryption Secrets Block: TLS key log.
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// The longest line that is one: a label, a random number of 32 bytes and a secret, with room for longer ones.
const LINE_BYTES_MAX: usize = 1024;

/// Why a text is not a key log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyLogError {
    /// A line is neither a secret nor a comment.
    #[error("line {line} is neither \"LABEL HEX HEX\" nor a comment")]
    Line {
        /// Its number, from 1.
        line: usize,
    },
    /// It has comments only.
    #[error("there are no secrets in it")]
    Empty,
}

/// The lines of a key log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLog {
    text: Vec<u8>,
}

impl KeyLog {
    /// Checks the text of a key log: lines of a label and two hexadecimal numbers, empty ones and comments (`#`).
    ///
    /// # Errors
    /// [`KeyLogError`] names the first line that is anything else, and does not quote it: it may be a secret.
    pub fn parse(text: &[u8]) -> Result<Self, KeyLogError> {
        let mut is_empty = true;
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if !is_secret(line) {
                return Err(KeyLogError::Line { line: number + 1 });
            }
            is_empty = false;
        }
        if is_empty {
            return Err(KeyLogError::Empty);
        }
        Ok(Self {
            text: text.to_vec(),
        })
    }

    /// The body of a Decryption Secrets Block, in the byte order of this machine.
    pub(crate) fn secrets(&self) -> Vec<u8> {
        secrets(&self.text)
    }
}

/// The body of a Decryption Secrets Block with these lines.
fn secrets(lines: &[u8]) -> Vec<u8> {
    let length = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let [kind, length] = [TLS_KEY_LOG, length].map(u32::to_ne_bytes);
    let mut body = [&kind[..], &length, lines].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    body
}

/// Whether a line is a label and two hexadecimal numbers.
///
/// # Source
/// draft-ietf-tls-keylogfile. The label `RSA` of older logs has the same form.
fn is_secret(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ');
    let is_label = |word: &[u8]| {
        let is_letter =
            |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        !word.is_empty() && word.iter().all(is_letter)
    };
    let is_hex = |word: &[u8]| {
        !word.is_empty() && word.len().is_multiple_of(2) && word.iter().all(u8::is_ascii_hexdigit)
    };
    line.len() <= LINE_BYTES_MAX
        && words.next().is_some_and(is_label)
        && words.next().is_some_and(is_hex)
        && words.next().is_some_and(is_hex)
        && words.next().is_none()
}
