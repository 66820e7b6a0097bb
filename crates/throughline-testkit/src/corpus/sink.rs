//! Where the lines go: one log file at a time, counted, with a note of every planted secret.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Stats;
use super::secrets::Secret;

/// The name of the list of planted secrets, below the corpus.
pub const MANIFEST: &str = "planted.jsonl";

#[derive(Debug)]
pub struct Sink {
    root: PathBuf,
    log: Option<Log>,
    manifest: Option<BufWriter<File>>,
    /// What the texts of the current turn hold.
    secrets: Vec<Secret>,
    stats: Stats,
}

#[derive(Debug)]
struct Log {
    path: String,
    lines: u64,
    out: BufWriter<File>,
}

impl Sink {
    pub fn new(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Self {
            root: root.to_owned(),
            log: None,
            manifest: None,
            secrets: Vec::new(),
            stats: Stats::default(),
        })
    }

    /// Starts the log of another session at a path relative to the corpus.
    pub fn open(&mut self, path: String) -> io::Result<()> {
        self.close()?;
        self.stats.sessions += 1;
        self.stats.files += 1;
        let out = BufWriter::new(create(&self.root.join(&path))?);
        self.log = Some(Log {
            path,
            lines: 0,
            out,
        });
        Ok(())
    }

    /// Says what the lines to come may hold.
    pub fn expect(&mut self, secrets: &[Secret]) {
        self.secrets = secrets.to_vec();
    }

    pub fn line(&mut self, line: &str) -> io::Result<()> {
        let Some(log) = &mut self.log else {
            return Err(io::Error::other("no log is open"));
        };
        log.out.write_all(line.as_bytes())?;
        log.out.write_all(b"\n")?;
        log.lines += 1;
        self.stats.lines += 1;
        self.stats.bytes += line.len() as u64 + 1;
        for secret in self.secrets.iter().filter(|s| line.contains(&s.value)) {
            let manifest = match &mut self.manifest {
                Some(manifest) => manifest,
                none => none.insert(BufWriter::new(create(&self.root.join(MANIFEST))?)),
            };
            writeln!(manifest, "{}", secret.manifest_line(&log.path, log.lines))?;
            self.stats.planted += 1;
        }
        Ok(())
    }

    /// Returns how many lines the open log has.
    pub fn lines(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.lines)
    }

    /// Writes a whole file that belongs to a session beside its log.
    pub fn file(&mut self, path: &str, text: &str) -> io::Result<()> {
        create(&self.root.join(path))?.write_all(text.as_bytes())?;
        self.stats.files += 1;
        self.stats.bytes += text.len() as u64;
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<Stats> {
        self.close()?;
        if let Some(mut manifest) = self.manifest.take() {
            manifest.flush()?;
        }
        Ok(self.stats)
    }

    fn close(&mut self) -> io::Result<()> {
        match self.log.take() {
            Some(mut log) => log.out.flush(),
            None => Ok(()),
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::create(path)
}
