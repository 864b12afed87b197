//! Fields as rows: a path of names, and the values found there.

use std::collections::BTreeMap;

use serde_json::Value;

/// Values by the path of their field; a field in a list has several.
pub type Rows = BTreeMap<String, Vec<String>>;

/// Letters and digits alone: how both sides spell a name.
pub fn plain(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn below(path: &str, name: &str) -> String {
    match (path, plain(name).as_str()) {
        (_, "") => path.to_owned(),
        ("", name) => name.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

/// The rows of JSON.
pub fn of_json(value: &Value) -> Rows {
    let mut rows = Rows::new();
    add_json(&mut rows, "", value);
    rows
}

fn add_json(rows: &mut Rows, path: &str, value: &Value) {
    let mut put = |text: String| rows.entry(path.to_owned()).or_default().push(text);
    match value {
        Value::Null => {}
        Value::Bool(on) => put(u8::from(*on).to_string()),
        Value::Number(number) => put(number.to_string()),
        Value::String(text) => put(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_json(rows, path, item)),
        Value::Object(fields) => {
            for (key, value) in fields {
                add_json(rows, &below(path, key), value);
            }
        }
    }
}

/// The rows of what `{:?}` writes of a value.
pub fn of_debug(text: &str) -> Rows {
    let mut reader = Reader {
        rest: text,
        rows: Rows::new(),
    };
    reader.value("");
    assert_eq!(reader.rest, "", "{text}");
    reader.rows
}

struct Reader<'a> {
    rest: &'a str,
    rows: Rows,
}

impl Reader<'_> {
    fn put(&mut self, path: &str, value: &str) {
        let values = self.rows.entry(path.to_owned()).or_default();
        values.push(value.to_owned());
    }

    fn skip(&mut self, letter: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The text before the next of `ends`.
    fn until(&mut self, ends: &[char]) -> String {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.trim().to_owned()
    }

    fn value(&mut self, path: &str) {
        if self.skip('[') {
            return self.list(path, ']');
        }
        if self.skip('(') {
            return self.list(path, ')');
        }
        if self.skip('"') {
            let text = self.until(&['"']);
            self.skip('"');
            return self.put(path, &text);
        }
        let word = self.until(&[',', '(', ')', '[', ']', '{', '}']);
        if self.rest.starts_with('(') {
            self.skip('(');
            self.list(&below(path, &word), ')');
        } else if self.skip('{') {
            self.fields(path);
        } else {
            self.put(path, &word);
        }
    }

    fn list(&mut self, path: &str, end: char) {
        while !self.skip(end) {
            self.value(path);
            self.skip(',');
        }
    }

    /// The name of a struct says no more than the field it is in.
    fn fields(&mut self, path: &str) {
        while !self.skip('}') {
            let name = self.until(&[':']);
            self.skip(':');
            self.value(&below(path, &name));
            self.skip(',');
        }
    }
}
