//! Power loss. The system calls of a writer are traced, and replayed to disk images that hold
//! everything that was synced and any part of what was not: nothing, the beginning, a random
//! choice, or a write that was torn at a sector.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use memory::RecordId;

use super::{BATCHES, FOLDER, NAME, check};

/// How many images are made in an ordinary run; `THROUGHLINE_IMAGES` asks for more.
const IMAGES: usize = 40;
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
enum Call {
    Write {
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    Truncate(usize),
    Sync,
    Remove,
    /// Removed files are gone for good.
    SyncFolder,
    Acknowledge(RecordId),
}

/// The content of a file on disk, and the calls since its last sync.
#[derive(Clone, Default)]
struct File {
    is_there: bool,
    synced: Vec<u8>,
    waiting: Vec<Call>,
}

#[test]
fn after_a_power_loss_what_was_acknowledged_is_there() {
    let asked = |name: &str, usual| std::env::var(name).map_or(usual, |n| n.parse().unwrap());
    let images = asked("THROUGHLINE_IMAGES", IMAGES);
    let dir = tempfile::tempdir().unwrap();
    let Some(calls) = traced(dir.path(), if images > IMAGES { 160 } else { 12 }) else {
        return testkit::skip::skip("strace", "strace cannot trace here");
    };
    let mut random = Random(7);
    let mut points: Vec<usize> = (0..images).map(|_| random.below(calls.len())).collect();
    points.sort_unstable();
    let mut disk = BTreeMap::new();
    let (mut acknowledged, mut reached) = (HashSet::new(), 0);
    for (number, point) in points.into_iter().enumerate() {
        for (name, call) in &calls[reached..=point] {
            match call {
                Call::Acknowledge(id) => {
                    acknowledged.insert(*id);
                }
                Call::SyncFolder => disk.values_mut().for_each(settle_removal),
                call => tell(disk.entry(name.clone()).or_default(), call),
            }
        }
        reached = point + 1;
        let image = dir.path().join(format!("image{number}"));
        write_image(&disk, &image, number % 4, &mut random);
        check(&image, &acknowledged);
        fs::remove_dir_all(image).unwrap();
    }
    assert!(
        !acknowledged.is_empty(),
        "the trace shows no acknowledged record"
    );
    println!(
        "soak: power loss | {images} disks of {} calls, \
         {} records acknowledged at the end | 0 lost",
        calls.len(),
        acknowledged.len()
    );
}

fn tell(file: &mut File, call: &Call) {
    match call {
        Call::Sync => {
            for call in std::mem::take(&mut file.waiting) {
                apply(file, &call);
            }
        }
        call => {
            file.is_there |= matches!(call, Call::Write { .. });
            file.waiting.push(call.clone());
        }
    }
}

fn settle_removal(file: &mut File) {
    let removal = file
        .waiting
        .iter()
        .rposition(|call| matches!(call, Call::Remove));
    if let Some(removal) = removal {
        let later = file.waiting.split_off(removal + 1);
        *file = File {
            is_there: !later.is_empty(),
            synced: Vec::new(),
            waiting: later,
        };
    }
}

fn apply(file: &mut File, call: &Call) {
    match call {
        Call::Write { at, bytes } => {
            file.is_there = true;
            let at = at.unwrap_or(file.synced.len());
            if file.synced.len() < at + bytes.len() {
                file.synced.resize(at + bytes.len(), 0);
            }
            file.synced[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Call::Truncate(len) => file.synced.resize(*len, 0),
        Call::Remove => *file = File::default(),
        Call::Sync | Call::SyncFolder | Call::Acknowledge(_) => {}
    }
}

/// Writes a disk image as it may be found after a power loss.
fn write_image(disk: &BTreeMap<String, File>, folder: &Path, mode: usize, random: &mut Random) {
    fs::create_dir(folder).unwrap();
    for (name, file) in disk {
        let mut found = file.clone();
        let beginning = random.below(file.waiting.len() + 1);
        for (number, call) in file.waiting.iter().enumerate() {
            let is_written = match mode {
                0 => false,
                1 => number < beginning,
                2 => random.below(2) == 0,
                _ => true,
            };
            if is_written {
                apply(&mut found, &torn(call, mode, random));
            }
        }
        if found.is_there {
            fs::write(folder.join(name), found.synced).unwrap();
        }
    }
}

/// Returns a write of which sometimes only some sectors reached the disk.
fn torn(call: &Call, mode: usize, random: &mut Random) -> Call {
    match call {
        Call::Write { at, bytes } if mode == 2 && random.below(4) == 0 => Call::Write {
            at: *at,
            bytes: bytes[..bytes.len().min(SECTOR * random.below(8))].to_vec(),
        },
        call => call.clone(),
    }
}

/// Runs a writer, and returns its system calls by file, in order.
fn traced(dir: &Path, batches: u32) -> Option<Vec<(String, Call)>> {
    let (folder, trace) = (dir.join("store"), dir.join("trace"));
    let status = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "4000000", "-o"])
        .arg(&trace)
        .arg("-e")
        .arg("trace=pwrite64,write,ftruncate,fsync,fdatasync,unlink,unlinkat")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_killed", "--nocapture"])
        .env(FOLDER, &folder)
        .env(NAME, "power")
        .env(BATCHES, batches.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return None;
    }
    let folder = folder.to_string_lossy().into_owned();
    Some(calls(
        &fs::read_to_string(trace).unwrap(),
        &format!("{folder}/"),
    ))
}

fn calls(trace: &str, folder: &str) -> Vec<(String, Call)> {
    let mut begun = BTreeMap::new();
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((process, line)) = line.split_once(' ') else {
            continue;
        };
        let line = line.trim_start();
        let whole = if let Some(begin) = line.strip_suffix("<unfinished ...>") {
            begun.insert(process, begin.to_owned());
            continue;
        } else if let Some((_, end)) = line.split_once(" resumed>") {
            begun.remove(process).unwrap_or_default() + end
        } else {
            line.to_owned()
        };
        if let Some(text) = whole.strip_prefix("write(1<") {
            said.extend(quoted(text));
            calls.extend(acknowledged(&mut said));
        } else {
            calls.extend(call(&whole, folder));
        }
    }
    calls
}

/// Takes complete lines from the writer's output.
fn acknowledged(said: &mut Vec<u8>) -> Vec<(String, Call)> {
    let Some(end) = said.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let lines: Vec<u8> = said.drain(..=end).collect();
    let lines = String::from_utf8_lossy(&lines);
    let ids = lines
        .lines()
        .filter_map(|line| line.strip_prefix("ack ")?.parse().ok());
    ids.map(|id| (String::new(), Call::Acknowledge(id)))
        .collect()
}

/// Parses a call on a file of the store that outlives the process.
fn call(line: &str, folder: &str) -> Option<(String, Call)> {
    let (name, arguments) = line.split_once('(')?;
    let path = if name.starts_with("unlink") {
        String::from_utf8_lossy(&quoted(arguments)).into_owned()
    } else {
        let (_, path) = arguments.split_once('<')?;
        let (path, _) = path.split_once('>')?;
        String::from_utf8_lossy(&unescaped(path)).into_owned()
    };
    if folder.strip_suffix('/') == Some(path.as_str()) {
        return Some((String::new(), Call::SyncFolder));
    }
    let file = path.strip_prefix(folder)?;
    if file.ends_with("-shm") || file.ends_with(".lock") {
        return None;
    }
    let mut numbers = arguments.rsplit_once(')')?.0.rsplit(", ");
    let mut number = || numbers.next()?.parse().ok();
    let call = match name {
        "pwrite64" => Call::Write {
            at: Some(number()?),
            bytes: quoted(arguments),
        },
        "write" => Call::Write {
            at: None,
            bytes: quoted(arguments),
        },
        "ftruncate" => Call::Truncate(number()?),
        "fsync" | "fdatasync" => Call::Sync,
        _ => Call::Remove,
    };
    Some((file.to_owned(), call))
}

/// Returns the first quoted text in the arguments of a call.
fn quoted(arguments: &str) -> Vec<u8> {
    let text = arguments.split('"').nth(1).unwrap_or_default();
    unescaped(text)
}

fn unescaped(text: &str) -> Vec<u8> {
    let Some(bytes) = text.strip_prefix("\\x") else {
        return text.as_bytes().to_vec();
    };
    let bytes = bytes.split("\\x");
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }
}
