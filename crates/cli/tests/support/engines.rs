//! DuckDB and other engines that read Parquet and Arrow files.

use std::process::Stdio;

use serde_json::Value;

/// The rows of a query, by DuckDB.
#[track_caller]
pub fn duckdb(query: &str) -> Vec<Vec<Value>> {
    let script = "import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.argv[1]).fetchall(), default=str))";
    let mut command = lab::tool::python();
    let output = command
        .args(["-c", script, query])
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}: {errors}");
    serde_json::from_slice(&output.stdout).expect("rows")
}

/// The rows of an Arrow stream, by nanoarrow.
#[track_caller]
pub fn nanoarrow(stream: impl Into<Stdio>) -> Vec<Value> {
    let script = "import json, nanoarrow, sys
with nanoarrow.ArrayStream.from_readable(sys.stdin.buffer) as stream:
    print(json.dumps([row for batch in stream for row in batch.to_pylist()], default=str))";
    let mut command = lab::tool::python();
    let output = command.args(["-c", script]).stdin(stream).output();
    let output = output.expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("rows")
}
