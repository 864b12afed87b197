//! Several measurements of one thing.

/// Middle, least and most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// `None` of nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().collect();
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

    /// `median (least–most)`, each divided by `unit`; the median alone if there is no spread.
    pub fn show(&self, unit: f64, decimals: usize) -> String {
        let number = |value: f64| format!("{:.decimals$}", value / unit);
        let Self {
            median,
            least,
            most,
        } = *self;
        if least.to_bits() == most.to_bits() {
            return number(median);
        }
        format!("{} ({}–{})", number(median), number(least), number(most))
    }
}
