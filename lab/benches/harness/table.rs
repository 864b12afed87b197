use serde_json::{Value, json};

/// Median, minimum and maximum of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
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
        let number = |value: f64| format!("{:.*}", self.decimals, value / self.unit);
        match Spread::of(values) {
            None => "–".into(),
            Some(spread) if spread.least.to_bits() == spread.most.to_bits() => {
                number(spread.median)
            }
            Some(Spread {
                median,
                least,
                most,
            }) => format!("{} ({}–{})", number(median), number(least), number(most)),
        }
    }
}

/// Figures of all rounds: one row per subject, one column per figure.
#[derive(Debug)]
pub struct Table {
    pub title: String,
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

    pub fn print(&self) {
        println!("\n**{}**\n", self.title);
        let heads: Vec<_> = self.columns.iter().map(|column| column.head).collect();
        println!(
            "| | {} |\n|---|{}",
            heads.join(" | "),
            "--:|".repeat(heads.len())
        );
        for Row { name, values } in &self.rows {
            let cells = self.columns.iter().zip(values);
            let cells: Vec<_> = cells.map(|(column, values)| column.cell(values)).collect();
            println!("| {} | {} |", name.replace('|', "\\|"), cells.join(" | "));
        }
    }

    /// Prints one JSON line per row, with the values of each round.
    pub fn print_json(&self) {
        for Row { name, values } in &self.rows {
            let figures = self.columns.iter().zip(values).map(|(column, values)| {
                let spread = Spread::of(values).map(|spread| {
                    json!({"median": spread.median, "least": spread.least, "most": spread.most, "rounds": values})
                });
                (column.head.to_owned(), spread.unwrap_or(Value::Null))
            });
            let figures: serde_json::Map<_, _> = figures.collect();
            let line =
                json!({"event": "row", "table": self.title, "name": name, "figures": figures});
            println!("{line}");
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
