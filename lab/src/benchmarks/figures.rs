//! The figures of a bench.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// All figures of a bench.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Measurements {
    /// Name of the bench.
    pub bench: String,
    /// Its runs, oldest first. No two have a table in common.
    pub runs: Vec<Run>,
}

/// A run of a bench, or what later runs left of it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Run {
    /// Processor, number of CPUs and kernel.
    pub machine: String,
    /// When it began, UTC.
    pub date: String,
    /// Its command line.
    pub command: String,
    /// How often each figure was measured, unless a note says otherwise.
    pub rounds: u32,
    /// How long it took.
    pub seconds: u64,
    /// Its figures.
    pub tables: Vec<Figures>,
    /// Targets, and whether they hold.
    pub verdicts: Vec<String>,
    /// How the figures were measured, and what went wrong.
    pub notes: Vec<String>,
}

/// A table: one row per subject, one column per figure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Figures {
    /// Its title, which no other table of the bench has.
    pub title: String,
    /// The axes of its plot, across and up, if it has one. The columns are then numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plot: Option<[String; 2]>,
    /// The figures, from left to right.
    pub columns: Vec<Column>,
    /// The subjects, from top to bottom.
    pub rows: Vec<Row>,
}

/// A figure, and how it is shown.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Column {
    /// Its name and unit.
    pub head: String,
    /// The divisor of its figures.
    pub unit: f64,
    /// Digits behind the point.
    pub decimals: usize,
}

/// The figures of a subject.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Row {
    /// The subject.
    pub name: String,
    /// By column; `None` if nothing was measured.
    pub cells: Vec<Option<Cell>>,
}

/// A figure in all rounds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Cell {
    /// Their median and range.
    #[serde(flatten)]
    pub spread: Spread,
    /// The figure of each round.
    pub rounds: Vec<f64>,
}

/// Median, minimum and maximum of several measurements.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Spread {
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
    /// The minimum.
    pub least: f64,
    /// The maximum.
    pub most: f64,
}

impl Spread {
    /// Returns `None` if there are no values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self {
            median,
            least,
            most,
        })
    }
}

impl Cell {
    /// Returns `None` if there are no values.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            spread: Spread::of(values)?,
            rounds: values.into(),
        })
    }
}

impl Column {
    /// `median (minimum–maximum)`, only the median if there is no spread, or a dash.
    pub fn text(&self, cell: Option<&Cell>) -> String {
        let Some(Cell { spread, .. }) = cell else {
            return "–".into();
        };
        let number = |value: f64| {
            let text = format!("{:.*}", self.decimals, value / self.unit);
            // A small negative number is rounded to -0.0.
            match text.strip_prefix('-') {
                Some(digits) if digits.bytes().all(|byte| b"0.".contains(&byte)) => digits.into(),
                _ => text,
            }
        };
        let [median, least, most] = [spread.median, spread.least, spread.most].map(number);
        if least == most {
            median
        } else {
            format!("{median} ({least}–{most})")
        }
    }
}

impl Figures {
    /// The table in Markdown, below its title.
    pub fn markdown(&self) -> String {
        let heads: Vec<_> = self
            .columns
            .iter()
            .map(|column| column.head.as_str())
            .collect();
        let mut lines = vec![
            format!("**{}**", self.title),
            String::new(),
            format!("| | {} |", heads.join(" | ")),
            format!("| --- |{}", " --: |".repeat(heads.len())),
        ];
        for Row { name, cells } in &self.rows {
            let cells = self.columns.iter().zip(cells);
            let cells: Vec<_> = cells
                .map(|(column, cell)| column.text(cell.as_ref()))
                .collect();
            let name = name.replace('|', "\\|");
            lines.push(format!("| {name} | {} |", cells.join(" | ")));
        }
        lines.join("\n") + "\n"
    }
}

impl Measurements {
    /// Adds a run. Its tables replace those with the same titles; a complete run replaces everything.
    pub fn add(&mut self, run: Run, is_complete: bool) {
        if is_complete {
            self.runs.clear();
        }
        let is_new = |table: &Figures| run.tables.iter().any(|new| new.title == table.title);
        for old in &mut self.runs {
            old.tables.retain(|table| !is_new(table));
        }
        self.runs.retain(|old| !old.tables.is_empty());
        self.runs.push(run);
    }

    /// # Errors
    /// Of the file system; `InvalidData` if the file has another format.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// # Errors
    /// Of the file system.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, serde_json::to_string_pretty(self)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(date: &str, titles: &[&str]) -> Run {
        let table = |title: &&str| Figures {
            title: (*title).into(),
            plot: None,
            columns: Vec::new(),
            rows: Vec::new(),
        };
        Run {
            machine: String::new(),
            date: date.into(),
            command: String::new(),
            rounds: 1,
            seconds: 1,
            tables: titles.iter().map(table).collect(),
            verdicts: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn left(measured: &Measurements) -> Vec<(&str, usize)> {
        let runs = measured.runs.iter();
        runs.map(|run| (run.date.as_str(), run.tables.len()))
            .collect()
    }

    #[test]
    fn a_partial_run_replaces_its_own_tables() {
        let mut measured = Measurements {
            bench: "x".into(),
            runs: Vec::new(),
        };
        measured.add(run("1", &["a", "b"]), true);
        measured.add(run("2", &["b"]), false);
        assert_eq!(left(&measured), [("1", 1), ("2", 1)]);
        measured.add(run("3", &["b", "c"]), false);
        assert_eq!(left(&measured), [("1", 1), ("3", 2)]);
        measured.add(run("4", &["a"]), true);
        assert_eq!(left(&measured), [("4", 1)]);
    }

    #[test]
    fn the_median_of_an_even_number_is_between() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).expect("values");
        assert_eq!((spread.median, spread.least, spread.most), (2.5, 1.0, 4.0));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn a_cell_shows_its_spread() {
        let column = Column {
            head: "kpps".into(),
            unit: 1e3,
            decimals: 1,
        };
        let text = |values: &[f64]| column.text(Cell::of(values).as_ref());
        assert_eq!(text(&[1500.0, 2500.0, 1000.0]), "1.5 (1.0–2.5)");
        assert_eq!(text(&[1500.0, 1501.0]), "1.5");
        assert_eq!(text(&[-4.0, -700.0, 10.0]), "0.0 (-0.7–0.0)");
        assert_eq!(text(&[]), "–");
    }
}
