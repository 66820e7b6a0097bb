//! Cleans `{"id","text"}` lines from stdin to stdout.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use throughline_redact::{PersonalData, Redactor, personal_data};

#[derive(Deserialize)]
struct Line {
    id: String,
    text: String,
}

#[derive(Serialize)]
struct CleanLine {
    id: String,
    text: String,
    sensitive: Vec<&'static str>,
}

fn main() -> std::io::Result<()> {
    let redactor = Redactor::new([7; 32]);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let text = redactor.clean(&line.text).into_owned().into_string();
        let personal = personal_data(&text, None).into_iter();
        let clean = CleanLine {
            id: line.id,
            text,
            sensitive: personal.map(PersonalData::name).collect(),
        };
        serde_json::to_writer(&mut out, &clean)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
