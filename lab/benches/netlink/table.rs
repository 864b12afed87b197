//! Figures, as they come, and how they are printed.

use crate::harness::Spread;

#[derive(Default)]
pub struct Table {
    /// In the order in which they came first: task, method, figures.
    rows: Vec<(String, String, Vec<f64>)>,
}

impl Table {
    pub fn add(&mut self, task: &str, method: &str, figure: f64) {
        let same = |row: &&mut (String, String, Vec<f64>)| row.0 == task && row.1 == method;
        match self.rows.iter_mut().find(same) {
            Some(row) => row.2.push(figure),
            None => self
                .rows
                .push((task.to_owned(), method.to_owned(), vec![figure])),
        }
    }

    /// A row for each method, by task; the ratio is to the task's first method, round by round.
    pub fn print(&self) {
        let mut tasks: Vec<&str> = Vec::new();
        for (task, ..) in &self.rows {
            if !tasks.contains(&task.as_str()) {
                tasks.push(task);
            }
        }
        println!("| task | by | figure | to the first |\n|---|---|---:|---:|");
        for task in tasks {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.0 == task).collect();
            for (_, method, figures) in &rows {
                let ratios = figures
                    .iter()
                    .zip(&rows[0].2)
                    .map(|(figure, first)| figure / first);
                let ratio = Spread::of(ratios).expect("a round").show(1.0, 3);
                let figure = Spread::of(figures.iter().copied()).expect("a round");
                let decimals = if figure.median < 10.0 { 2 } else { 1 };
                println!(
                    "| {task} | {method} | {} | {ratio} |",
                    figure.show(1.0, decimals)
                );
            }
        }
    }
}
