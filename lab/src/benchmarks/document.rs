//! The generated part of `docs/benchmarks.md`: one section per bench, between two markers.

use super::figures::{Figures, Measurements, Run};

/// The end of the line that says where and when a bench ran.
const FIRST_LINE_END: &str = "median (least–most).";

/// Replaces the sections of `measured` in `document`. The rest stays as it is.
///
/// # Errors
/// The name of a bench for which the document has no section, or a line in a section that no bench wrote: text
/// belongs outside of the markers.
pub fn update(document: &str, measured: &[Measurements]) -> Result<String, String> {
    let mut document = document.to_owned();
    if let Some(line) = written_by_hand(&document) {
        return Err(format!("a bench would overwrite this line: {line}"));
    }
    for measurements in measured {
        let [start, end] = markers(&measurements.bench);
        let missing = || format!("no section between {start} and {end}");
        let (before, rest) = document.split_once(&start).ok_or_else(missing)?;
        let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
        let section = section(measurements);
        document = format!("{before}{start}\n\n{section}\n{end}{after}");
    }
    Ok(document)
}

/// File name of a table's plot, from the title up to a comma.
pub fn picture(bench: &str, table: &Figures) -> String {
    let (title, _) = table.title.split_once(',').unwrap_or((&table.title, ""));
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    format!("{bench}-{}.svg", words.join("-").to_lowercase())
}

/// A line between two markers that no bench wrote.
fn written_by_hand(document: &str) -> Option<&str> {
    let is_marker = |line: &str, text: &str| line.starts_with(&format!("<!-- {text}"));
    let is_generated = |line: &str| {
        let starts = ["|", "**", "![", "- ", "<details>", "</details>", "Targets:"];
        line.is_empty()
            || starts.iter().any(|start| line.starts_with(start))
            || line.ends_with(FIRST_LINE_END)
    };
    let mut is_inside = false;
    document.lines().find(|line| {
        if is_marker(line, "bench ") || is_marker(line, "end of bench ") {
            is_inside = is_marker(line, "bench ");
            return false;
        }
        is_inside && !is_generated(line)
    })
}

fn markers(bench: &str) -> [String; 2] {
    [
        format!("<!-- bench {bench}: written by make bench -->"),
        format!("<!-- end of bench {bench} -->"),
    ]
}

fn section(measurements: &Measurements) -> String {
    let runs = measurements.runs.iter();
    let runs: Vec<_> = runs.map(|run| of_run(&measurements.bench, run)).collect();
    runs.join("\n")
}

fn of_run(bench: &str, run: &Run) -> String {
    let rounds = match run.rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    let Run { machine, date, .. } = run;
    let mut parts = vec![format!("{machine}; {date}; {rounds}; {FIRST_LINE_END}\n")];
    for table in &run.tables {
        parts.push(table.markdown());
        if table.plot.is_some() {
            let file = picture(bench, table);
            parts.push(format!("![{}](plots/{file})\n", table.title));
        }
    }
    if !run.verdicts.is_empty() {
        parts.push("Targets:\n".into());
        parts.push(list(&run.verdicts));
    }
    parts.push("<details><summary>Method and commands</summary>\n".into());
    let command = format!("`{}`, {} s", run.command, run.seconds);
    parts.push(list(&[&[command], run.notes.as_slice()].concat()));
    parts.push("</details>\n".into());
    parts.join("\n")
}

fn list(items: &[String]) -> String {
    let items: Vec<_> = items.iter().map(|item| format!("- {item}")).collect();
    items.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::{Cell, Column, Row};

    fn measured(bench: &str) -> Measurements {
        let row = Row {
            name: "a | b".into(),
            cells: vec![Cell::of(&[2.0, 1.0, 3.0]), None],
        };
        let column = |head: &str| Column {
            head: head.into(),
            unit: 1.0,
            decimals: 0,
        };
        let table = Figures {
            title: "Sent, by size".into(),
            plot: Some(["bytes".into(), "packets/s".into()]),
            columns: vec![column("64"), column("1500")],
            rows: vec![row],
        };
        let run = Run {
            machine: "a machine".into(),
            date: "2026-01-02 03:04 UTC".into(),
            command: "cargo bench".into(),
            rounds: 3,
            seconds: 7,
            tables: vec![table],
            verdicts: vec!["fast: holds".into()],
            notes: vec!["measured well".into()],
        };
        Measurements {
            bench: bench.into(),
            runs: vec![run],
        }
    }

    #[test]
    fn a_section_is_replaced_and_the_rest_kept() {
        let [start, end] = markers("send");
        let document = format!("Before.\n\n{start}\n| old | figures |\n{end}\n\nAfter.\n");
        let updated = update(&document, &[measured("send")]).expect("a section");
        let expected = format!(
            "Before.\n\n{start}\n
a machine; 2026-01-02 03:04 UTC; 3 rounds; median (least–most).

**Sent, by size**

| | 64 | 1500 |
| --- | --: | --: |
| a \\| b | 2 (1–3) | – |

![Sent, by size](plots/send-sent.svg)

Targets:

- fast: holds

<details><summary>Method and commands</summary>

- `cargo bench`, 7 s
- measured well

</details>

{end}\n\nAfter.\n"
        );
        assert_eq!(updated, expected);
        assert_eq!(update(&updated, &[measured("send")]), Ok(updated));
    }

    #[test]
    fn text_in_a_section_is_not_overwritten() {
        let [start, end] = markers("send");
        let document = format!("{start}\n\n| | 64 |\n\nThe sender waited.\n\n{end}\n\nAfter.\n");
        let error = update(&document, &[measured("send")]).expect_err("text");
        assert!(error.ends_with("The sender waited."), "{error}");
        // Also in a section that is not replaced.
        assert_eq!(update(&document, &[]), Err(error));
    }

    #[test]
    fn a_missing_section_is_an_error() {
        let error = update("nothing", &[measured("ping")]).expect_err("no section");
        assert!(error.contains("bench ping"), "{error}");
    }
}
