//! Tables of figures.

use tapline_lab::benchmarks::{self, Cell, Figures};

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    head: &'static str,
    /// The divisor of its figures.
    unit: f64,
    decimals: usize,
}

pub const fn column(head: &'static str, unit: f64, decimals: usize) -> Column {
    Column {
        head,
        unit,
        decimals,
    }
}

impl Column {
    /// `median (minimum–maximum)`, only the median if there is no spread, or a dash.
    pub fn cell(&self, values: &[f64]) -> String {
        self.shown().text(Cell::of(values).as_ref())
    }

    /// As the bench's file has it.
    fn shown(&self) -> benchmarks::Column {
        benchmarks::Column {
            head: self.head.into(),
            unit: self.unit,
            decimals: self.decimals,
        }
    }
}

/// Figures of all rounds: one row per subject, one column per figure.
#[derive(Debug)]
pub struct Table {
    pub title: String,
    plot: Option<[String; 2]>,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    /// By column, then by round.
    values: Vec<Vec<f64>>,
}

impl Table {
    pub fn new(title: &str, columns: &[Column]) -> Self {
        Self {
            title: title.into(),
            plot: None,
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a round's figures to the row `name`, starting at its first column. NaN means not measured.
    pub fn add(&mut self, name: &str, figures: &[f64]) {
        let place = self.rows.iter().position(|row| row.name == name);
        let place = place.unwrap_or_else(|| {
            let values = vec![Vec::new(); self.columns.len()];
            let name = name.into();
            self.rows.push(Row { name, values });
            self.rows.len() - 1
        });
        for (values, figure) in self.rows[place].values.iter_mut().zip(figures) {
            values.extend(Some(*figure).filter(|figure| !figure.is_nan()));
        }
    }

    /// The names of its rows.
    pub fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    /// The values of all rounds in one cell; empty for an unknown row.
    ///
    /// # Panics
    /// If there is no column of that name.
    pub fn of(&self, name: &str, head: &str) -> &[f64] {
        let column = self.columns.iter().position(|column| column.head == head);
        let column = column.unwrap_or_else(|| panic!("no column {head} in {}", self.title));
        let row = self.rows.iter().find(|row| row.name == name);
        row.map_or(&[], |row| &row.values[column])
    }

    /// Adds a column derived from others: `values` computes it for a row.
    pub fn derive(&mut self, column: Column, values: impl Fn(&Self, &str) -> Vec<f64>) {
        let derived: Vec<_> = self.names().iter().map(|name| values(self, name)).collect();
        self.columns.push(column);
        for (row, values) in self.rows.iter_mut().zip(derived) {
            row.values.push(values);
        }
    }

    /// Plots the table: its columns are numbers, `across` is what they mean.
    pub fn plot(&mut self, across: &str, up: &str) {
        self.plot = Some([across, up].map(Into::into));
    }

    /// The table as the bench's file has it.
    pub fn figures(&self) -> Figures {
        let row = |Row { name, values }: &Row| benchmarks::Row {
            name: name.clone(),
            cells: values.iter().map(|values| Cell::of(values)).collect(),
        };
        Figures {
            title: self.title.clone(),
            plot: self.plot.clone(),
            columns: self.columns.iter().map(Column::shown).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

/// Divides one by the other, round by round.
pub fn ratios(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter()
        .zip(other)
        .map(|(one, other)| one / other)
        .collect()
}
