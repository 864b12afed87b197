//! Builds an HTML page with tables.

use std::fmt::{self, Display, Write};

use super::chart::Chart;
use super::unprintable::is_unprintable;

/// Rows of a table that are shown.
pub const ROWS_MAX: usize = 1000;

/// Longer texts in tables are broken into lines.
const LINE_MAX: usize = 60;

/// Characters of a text that are shown.
const TEXT_MAX: usize = 1000;

/// A page under construction.
pub struct Page {
    text: String,
    /// Headings: title and number.
    sections: Vec<String>,
    body: String,
    charts: usize,
}

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Text, at the left.
    Text(&'a str),
    /// Numbers, at the right.
    Number(&'a str),
    /// Shares of 1, as a bar and in percent.
    Share(&'a str),
}

/// A table. Shares are numbers from 0 to 1 in text.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    /// What it shows.
    pub caption: &'a str,
    pub columns: Vec<Column<'a>>,
    pub rows: Vec<Vec<String>>,
}

impl Page {
    pub fn new(title: &str) -> Self {
        let mut text = String::from(HEAD);
        let title = Escaped(title);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n"
        );
        Self {
            text,
            sections: Vec::new(),
            body: String::new(),
            charts: 0,
        }
    }

    /// Begins a section.
    pub fn section(&mut self, title: &str) {
        if !self.sections.is_empty() {
            self.body.push_str("</section>\n");
        }
        self.sections.push(title.to_owned());
        let number = self.sections.len();
        self.write(format_args!(
            "<section aria-labelledby=\"s{number}\">\n<h2 id=\"s{number}\">{}</h2>\n",
            Escaped(title)
        ));
    }

    /// A heading below that of the section.
    pub fn heading(&mut self, title: &str) {
        self.write(format_args!("<h3>{}</h3>\n", Escaped(title)));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.write(format_args!("<p>{}</p>\n", Escaped(text)));
    }

    /// A paragraph that warns.
    pub fn warning(&mut self, text: &str) {
        self.write(format_args!(
            "<p class=\"warning\" role=\"note\">{}</p>\n",
            Escaped(text)
        ));
    }

    /// Names and values.
    pub fn facts<N: Display, V: Display>(&mut self, facts: impl IntoIterator<Item = (N, V)>) {
        self.body.push_str("<dl>\n");
        for (name, value) in facts {
            let (name, value) = (name.to_string(), value.to_string());
            self.write(format_args!(
                "<div><dt>{}</dt><dd>{}</dd></div>\n",
                Escaped(&name),
                Escaped(&value)
            ));
        }
        self.body.push_str("</dl>\n");
    }

    /// A table that scrolls if the window is narrower.
    pub fn table(&mut self, table: &Table<'_>) {
        let caption = Escaped(table.caption);
        self.write(format_args!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n<table>\n<caption>{caption}</caption>\n<thead><tr>"
        ));
        for column in &table.columns {
            let (name, class) = match column {
                Column::Text(name) => (name, ""),
                Column::Number(name) => (name, " class=\"number\""),
                Column::Share(name) => (name, " class=\"share\""),
            };
            self.write(format_args!(
                "<th scope=\"col\"{class}>{}</th>",
                Escaped(name)
            ));
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in table.rows.iter().take(ROWS_MAX) {
            self.body.push_str("<tr>");
            for (column, cell) in table.columns.iter().zip(row) {
                self.cell(*column, cell);
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody>\n</table>\n</div>\n");
        if table.rows.len() > ROWS_MAX {
            let rest = table.rows.len() - ROWS_MAX;
            self.paragraph(&format!("{rest} more rows are not shown."));
        }
    }

    fn cell(&mut self, column: Column<'_>, cell: &str) {
        match column {
            Column::Text(_) => {
                let is_long = cell.chars().nth(LINE_MAX).is_some();
                let class = if is_long { " class=\"long\"" } else { "" };
                self.write(format_args!("<td{class}>{}</td>", Escaped(cell)));
            }
            Column::Number(_) => {
                self.write(format_args!("<td class=\"number\">{}</td>", Escaped(cell)));
            }
            Column::Share(_) => {
                let share = cell.parse().unwrap_or(0.0_f64).clamp(0.0, 1.0) * 100.0;
                self.write(format_args!(
                    "<td class=\"share\"><span style=\"--share:{share:.2}%\">{share:.1} %</span></td>"
                ));
            }
        }
    }

    /// A chart, and its numbers as a table that opens on request.
    pub fn chart(&mut self, title: &str, chart: &impl Chart) {
        self.charts += 1;
        let (number, title) = (self.charts, Escaped(title));
        self.body.push_str("<figure>\n");
        for (class, width) in [("wide", WIDE), ("narrow", NARROW)] {
            let svg = chart.svg(width);
            // Everything behind the tag that the library wrote with a size in pixels.
            let inside = svg.split_once('>').map_or("", |(_, inside)| inside);
            let height = chart.height(width);
            let description = chart.description();
            let description = Escaped(&description);
            self.write(format_args!(
                "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"c{number}{class}\" viewBox=\"0 0 {width} {height}\">\
                 <title id=\"c{number}{class}\">{title}. {description}</title>{inside}"
            ));
        }
        self.write(format_args!("<figcaption>{title}</figcaption>\n"));
        self.body
            .push_str("<details><summary>Numbers of this chart</summary>\n");
        let table = chart.table();
        let columns = table.columns.iter().map(|(name, is_number)| {
            if *is_number {
                Column::Number(name)
            } else {
                Column::Text(name)
            }
        });
        let caption = title.0.to_owned();
        self.table(&Table {
            caption: &caption,
            columns: columns.collect(),
            rows: table.rows,
        });
        self.body.push_str("</details>\n</figure>\n");
    }

    /// The whole page.
    pub fn finish(mut self, footer: &str) -> String {
        if !self.sections.is_empty() {
            self.body.push_str("</section>\n");
        }
        if self.sections.len() > 1 {
            self.text.push_str("<nav aria-label=\"Sections\"><ul>\n");
            for (number, title) in (1..).zip(&self.sections) {
                let _ = writeln!(
                    self.text,
                    "<li><a href=\"#s{number}\">{}</a></li>",
                    Escaped(title)
                );
            }
            self.text.push_str("</ul></nav>\n");
        }
        self.text.push_str("<main>\n");
        self.text.push_str(&self.body);
        let footer = Escaped(footer);
        let _ = writeln!(
            self.text,
            "</main>\n<footer>{footer}</footer>\n</body>\n</html>"
        );
        self.text
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(text);
    }
}

/// Text that cannot be taken for markup. Control characters, and those that change the direction of text, become `?`; of long
/// texts the beginning is shown.
#[derive(Clone, Copy)]
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, c) in self.0.chars().enumerate() {
            if number == TEXT_MAX {
                return f.write_char('…');
            }
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if is_unprintable(c) => f.write_char('?')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Widths for which charts are drawn.
const WIDE: u32 = 1040;
const NARROW: u32 = 360;

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
<meta name=\"color-scheme\" content=\"light dark\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";

/// The colours of charts are those that `chart` draws with, replaced by those of the theme.
const STYLE: &str = include_str!("style.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let hostile = "</title><script>alert(1)</script>\" onload='x' &amp; \u{202e}\u{1b}[2J";
        let mut page = Page::new(hostile);
        page.section(hostile);
        page.heading(hostile);
        page.paragraph(hostile);
        page.warning(hostile);
        page.facts([(hostile, hostile)]);
        page.table(&Table {
            caption: hostile,
            columns: vec![
                Column::Text(hostile),
                Column::Number(hostile),
                Column::Share(hostile),
            ],
            rows: vec![vec![hostile.into(), hostile.into(), hostile.into()]],
        });
        page.section("another");
        let text = page.finish(hostile);
        assert!(
            !text.contains("<script") && !text.contains("onload='"),
            "{text}"
        );
        assert!(text.chars().all(|c| c == '\n' || !is_unprintable(c)));
        assert_eq!(text.matches("&lt;script&gt;").count(), 17, "{text}");
    }
}
