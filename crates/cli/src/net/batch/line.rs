//! The lines of a batch, as those of `ip -batch`: quotes around words, comments, lines that go on in the next.

use std::io::{self, BufRead, BufReader, Read};

/// Longest command; one is far shorter.
const MOST_BYTES: usize = 64 * 1024;

/// A command, which may stand in several lines.
#[derive(Debug)]
pub struct Line {
    /// The number of its first line, from 1.
    pub number: usize,
    text: String,
    /// Whether it is UTF-8; what is not has been replaced.
    is_text: bool,
}

/// Why a line has no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is too long.
    Long,
    /// A quote does not end.
    Quote,
    /// It is no UTF-8.
    Bytes,
}

/// Reads the lines of a batch.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<R>,
    number: usize,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Self {
        let input = BufReader::with_capacity(MOST_BYTES, input);
        Self { input, number: 0 }
    }

    /// Whether the next line has to be asked for, and may be long in coming.
    pub fn may_wait(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// The number of the line that was read last.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Adds the next line to `text`; false at the end.
    fn read(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        self.number += 1;
        // What is too long is said to be; its rest would be other lines.
        let most = 16 * MOST_BYTES as u64;
        Ok((&mut self.input).take(most).read_until(b'\n', text)? > 0)
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
        while bytes.len() <= MOST_BYTES
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
        let is_text = std::str::from_utf8(&bytes).is_ok();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(Ok(Line {
            number,
            text,
            is_text,
        }))
    }
}

impl Line {
    /// Its words; none, if it is empty.
    pub fn words(&self) -> Result<Vec<String>, Unreadable> {
        if self.text.len() > MOST_BYTES {
            return Err(Unreadable::Long);
        }
        if !self.is_text {
            return Err(Unreadable::Bytes);
        }
        let words = tokens(&self.text).map_while(|token| match token {
            Token::Word(word) => Some(Ok(word.to_owned())),
            Token::Comment => None,
            Token::Open => Some(Err(Unreadable::Quote)),
        });
        words.collect()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        !matches!(
            tokens(&self.text).next(),
            Some(Token::Word(_) | Token::Open)
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// From here to the end.
    Comment,
    /// A quote without an end.
    Open,
}

fn has_comment(text: &str) -> bool {
    tokens(text).any(|token| token == Token::Comment)
}

/// What is in a line. A quote counts at the beginning of a word alone.
fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let (token, behind) = match first {
            '#' => (Token::Comment, ""),
            '"' | '\'' => match rest[1..].split_once(first) {
                Some((word, behind)) => (Token::Word(word), behind),
                None => (Token::Open, ""),
            },
            _ => {
                let end = rest.find(|letter: char| letter.is_whitespace() || letter == '#');
                let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
                (Token::Word(word), behind)
            }
        };
        rest = behind;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, Result<Vec<String>, Unreadable>)> {
        let lines = Lines::new(text.as_bytes()).map(|line| line.expect("read"));
        lines.map(|line| (line.number, line.words())).collect()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// As ip(8) reads them (`makeargs` and `getcmdline`, lib/utils.c).
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
        assert_eq!(lines("a \"b"), [(1, Err(Unreadable::Quote))]);
        assert_eq!(lines("a \"\" b\"c"), [(1, Ok(words(&["a", "", "b\"c"])))]);
        let odd = Lines::new(&b"a \xff\nb\n"[..]);
        let odd = odd.map(|line| line.expect("read").words());
        assert_eq!(
            odd.collect::<Vec<_>>(),
            [Err(Unreadable::Bytes), Ok(words(&["b"]))]
        );
        let long = "a ".repeat(MOST_BYTES);
        assert_eq!(lines(&long), [(1, Err(Unreadable::Long))]);
    }
}
