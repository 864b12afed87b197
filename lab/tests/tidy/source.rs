//! A Rust source file without comments and literals.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A source file.
pub struct Source {
    /// Its path, relative to the root of the repository.
    pub path: String,
    pub text: String,
    /// Line number and text of each token, without literals.
    pub tokens: Vec<(usize, String)>,
}

impl Source {
    #[track_caller]
    pub fn new(path: &str, text: &str) -> Self {
        let stream = text.parse::<TokenStream>();
        let stream = stream.unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        Self {
            path: path.into(),
            text: text.into(),
            tokens,
        }
    }

    /// Whether the file is a test, a benchmark or an example.
    pub fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| ["tests", "tests.rs", "benches", "examples"].contains(&part))
    }

    /// The lines on which the tokens of `code` follow each other.
    pub fn lines_with(&self, code: &str) -> Vec<usize> {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let marks = code.split_inclusive(|letter| !is_word(letter));
        let wanted: Vec<&str> = marks
            .flat_map(|piece| {
                let (word, mark) = piece.split_at(piece.trim_end_matches(|c| !is_word(c)).len());
                [word, mark]
            })
            .filter(|token| !token.is_empty())
            .collect();
        let windows = self.tokens.windows(wanted.len());
        let found = windows.filter(|window| {
            let mut pairs = window.iter().zip(&wanted);
            pairs.all(|((_, own), other)| own == other)
        });
        found.map(|window| window[0].0).collect()
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<(usize, String)>) {
    let line = |span: Span| span.start().line;
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let marks = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::None => ["", ""],
                };
                tokens.push((line(group.span_open()), marks[0].into()));
                flatten(group.stream(), tokens);
                tokens.push((line(group.span_close()), marks[1].into()));
            }
            TokenTree::Ident(ident) => tokens.push((line(ident.span()), ident.to_string())),
            TokenTree::Punct(punct) => tokens.push((line(punct.span()), punct.to_string())),
            TokenTree::Literal(_) => {}
        }
    }
}

#[test]
fn comments_and_quoted_text_are_no_code() {
    let text = r##"let a = "unsafe // no"; // unsafe
/* one /* two */ unsafe */ let b = '"'; let c: &'static str = r#"un"safe"#; unsafe {}
let r#type = br"\"; let unsafe_code = "x\"unsafe"; unsafe {} "##;
    let source = Source::new("a.rs", text);
    assert_eq!(source.lines_with("unsafe"), [2, 3]);
    assert_eq!(source.lines_with("str"), [2]);
}
