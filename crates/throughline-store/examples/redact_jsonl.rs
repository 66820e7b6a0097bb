//! Cleans `{"id","text"}` lines from stdin to stdout.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use throughline_store::redact::Redactor;

#[derive(Deserialize, Serialize)]
struct Line {
    id: String,
    text: String,
}

fn main() -> std::io::Result<()> {
    let redactor = Redactor::new([7; 32]);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let text = redactor.clean(&line.text).into_owned().into_string();
        serde_json::to_writer(&mut out, &Line { id: line.id, text })?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
