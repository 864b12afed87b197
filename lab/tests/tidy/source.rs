//! A Rust source, taken apart into what the compiler reads and what people read.

/// A source file.
pub struct Source {
    /// Its path from the root of the repository.
    pub path: String,
    /// All of it.
    pub text: String,
    /// It without comments and without what stands in quotes, lines kept.
    pub code: String,
    /// Its comments alone, lines kept.
    pub comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Quoted,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let parts = parts(&letters);
        let only = |wanted| {
            let kept = letters.iter().zip(&parts);
            let kept = kept.map(|(letter, part)| match letter {
                '\n' => '\n',
                _ if *part == wanted => *letter,
                _ => ' ',
            });
            kept.collect()
        };
        let (code, comments) = (only(Part::Code), only(Part::Comment));
        Self {
            path: path.into(),
            text: text.into(),
            code,
            comments,
        }
    }

    /// It is for tests only: what it does, users never meet.
    pub fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| ["tests", "tests.rs", "benches", "examples"].contains(&part))
    }
}

/// What each letter is part of.
fn parts(letters: &[char]) -> Vec<Part> {
    let mut parts = Vec::with_capacity(letters.len());
    while parts.len() < letters.len() {
        let at = parts.len();
        let after_a_word = at > 0 && is_word(letters[at - 1]);
        let (part, length) = piece(&letters[at..], after_a_word);
        parts.resize((at + length.max(1)).min(letters.len()), part);
    }
    parts
}

/// The piece at the beginning of `rest` and its length.
fn piece(rest: &[char], after_a_word: bool) -> (Part, usize) {
    match rest {
        ['/', '/', ..] => {
            let end = rest.iter().position(|letter| *letter == '\n');
            (Part::Comment, end.unwrap_or(rest.len()))
        }
        ['/', '*', ..] => (Part::Comment, block_comment(rest)),
        ['"', ..] => (Part::Quoted, 1 + quoted(&rest[1..], '"')),
        ['\'', '\\', ..] => (Part::Quoted, 1 + quoted(&rest[1..], '\'')),
        // A letter in quotes; a lone quote begins a lifetime.
        ['\'', _, '\'', ..] => (Part::Quoted, 3),
        ['r', '"' | '#', ..] if !after_a_word => raw(rest).unwrap_or((Part::Code, 1)),
        ['b' | 'c', 'r', '"' | '#', ..] if !after_a_word => {
            let raw = raw(&rest[1..]);
            raw.map_or((Part::Code, 1), |(part, length)| (part, length + 1))
        }
        _ => (Part::Code, 1),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let step = match rest[at..] {
            ['/', '*', ..] => {
                depth += 1;
                2
            }
            ['*', '/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length up to and with the closing `quote`.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            letter if letter == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// A raw string that begins with its `r`; `None` when it is a raw identifier.
fn raw(rest: &[char]) -> Option<(Part, usize)> {
    let hashes = rest[1..]
        .iter()
        .take_while(|letter| **letter == '#')
        .count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let close: Vec<char> = format!("\"{}", "#".repeat(hashes)).chars().collect();
    let inside = &rest[open + 1..];
    let end = inside
        .windows(close.len())
        .position(|window| window == close);
    Some((
        Part::Quoted,
        end.map_or(rest.len(), |end| open + 1 + end + close.len()),
    ))
}

pub fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The lines, from 1, on which `needle` stands in `text` as whole words.
pub fn lines_with(text: &str, needle: &str) -> Vec<usize> {
    let has = |line: &str| {
        line.match_indices(needle).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + needle.len()..].chars().next();
            let starts = !needle.starts_with(is_word) || !before.is_some_and(is_word);
            let ends = !needle.ends_with(is_word) || !after.is_some_and(is_word);
            starts && ends
        })
    };
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| has(line))
        .map(|(number, _)| number + 1)
        .collect()
}

#[test]
fn comments_and_quotes_are_told_from_code() {
    let text = r##"let a = "unsafe // no"; // unsafe yes
/* one /* two */ unsafe */ let b = '"'; let c: &'static str = r#"un"safe"#; let d = '\''; unsafe {}
let r#type = br"\"; let bar = "x\"unsafe"; unsafe {} "##;
    let source = Source::new("a.rs", text);
    assert_eq!(lines_with(&source.code, "unsafe"), [2, 3]);
    assert_eq!(source.code.matches("unsafe").count(), 2);
    assert_eq!(source.comments.matches("unsafe").count(), 2);
    assert!(source.code.contains("'static str"));
    assert!(source.code.contains("let r#type ="));
    assert_eq!(source.code.lines().count(), text.lines().count());
}

#[test]
fn words_are_whole() {
    assert_eq!(
        lines_with(
            "unsafe_code\nan unsafe fn\nprintln!()\neprintln!()",
            "unsafe"
        ),
        [2]
    );
    assert_eq!(lines_with("println!()\neprintln!()", "println!"), [1]);
}
