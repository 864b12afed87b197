//! The lines of a batch file, with the syntax of `ip -batch`: quoted words, comments and continuation lines.

use std::io::{self, BufRead, BufReader, Read};

use thiserror::Error;

/// The longest command.
const MAX_BYTES: usize = 64 * 1024;

/// A command, which continuation lines may extend.
#[derive(Debug)]
pub struct Line {
    /// The number of its first line, from 1.
    pub number: usize,
    text: Result<String, LineError>,
}

/// Why a line cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    #[error("the line is longer than {MAX_BYTES} bytes")]
    Length,
    #[error("a quote does not end")]
    Quote,
    #[error("the line is not text (UTF-8)")]
    Encoding,
}

/// Reads a batch file.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<R>,
    number: usize,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Self {
        let input = BufReader::with_capacity(MAX_BYTES, input);
        Self { input, number: 0 }
    }

    /// Whether reading the next line may block.
    pub fn may_wait(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// The number of the last line.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Appends the next line to `text`; false at the end of the file.
    fn read(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        self.number += 1;
        // Bounds the memory for a line that is too long.
        let limit = 16 * MAX_BYTES as u64;
        Ok((&mut self.input).take(limit).read_until(b'\n', text)? > 0)
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        let mut bytes = Vec::new();
        match self.read(&mut bytes) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let number = self.number;
        while bytes.len() <= MAX_BYTES
            && bytes.ends_with(b"\\\n")
            && !has_comment(&String::from_utf8_lossy(&bytes))
        {
            bytes.truncate(bytes.len() - 2);
            match self.read(&mut bytes) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Some(Err(error)),
            }
        }
        let text = if bytes.len() > MAX_BYTES {
            Err(LineError::Length)
        } else {
            String::from_utf8(bytes).map_err(|_| LineError::Encoding)
        };
        Some(Ok(Line { number, text }))
    }
}

impl Line {
    /// The words of the command; none for an empty line.
    pub fn words(&self) -> Result<Vec<String>, LineError> {
        let text = self.text.as_ref().map_err(|error| *error)?;
        let words = tokens(text).map_while(|token| match token {
            Token::Word(word) => Some(Ok(word.to_owned())),
            Token::Comment => None,
            Token::OpenQuote => Some(Err(LineError::Quote)),
        });
        words.collect()
    }

    pub fn is_empty(&self) -> bool {
        self.words().is_ok_and(|words| words.is_empty())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// The rest of the line.
    Comment,
    OpenQuote,
}

fn has_comment(text: &str) -> bool {
    tokens(text).any(|token| token == Token::Comment)
}

/// The tokens of a line. A quote is one at the start of a word only, as in ip(8).
fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let (token, after) = match first {
            '#' => (Token::Comment, ""),
            '"' | '\'' => match rest[1..].split_once(first) {
                Some((word, after)) => (Token::Word(word), after),
                None => (Token::OpenQuote, ""),
            },
            _ => {
                let end = rest.find(|letter: char| letter.is_whitespace() || letter == '#');
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                (Token::Word(word), after)
            }
        };
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, Result<Vec<String>, LineError>)> {
        let lines = Lines::new(text.as_bytes()).map(|line| line.expect("read"));
        lines.map(|line| (line.number, line.words())).collect()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// As `makeargs` and `getcmdline`, lib/utils.c.
    #[test]
    fn words_are_quoted_commented_and_continued() {
        let text = "link set a alias \"two words\" # c\n\n# all \\\nb 'it\"s' \\\n  c\\\nd e#f\n";
        assert_eq!(
            lines(text),
            [
                (1, Ok(words(&["link", "set", "a", "alias", "two words"]))),
                (2, Ok(words(&[]))),
                (3, Ok(words(&[]))),
                (4, Ok(words(&["b", "it\"s", "cd", "e"]))),
            ]
        );
        assert_eq!(lines("a \"b"), [(1, Err(LineError::Quote))]);
        assert_eq!(lines("a \"\" b\"c"), [(1, Ok(words(&["a", "", "b\"c"])))]);
        let odd = Lines::new(&b"a \xff\nb\n"[..]);
        let odd = odd.map(|line| line.expect("read").words());
        assert_eq!(
            odd.collect::<Vec<_>>(),
            [Err(LineError::Encoding), Ok(words(&["b"]))]
        );
        let long = "a ".repeat(MAX_BYTES);
        assert_eq!(lines(&long), [(1, Err(LineError::Length))]);
    }
}
