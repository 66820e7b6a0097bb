//! Finds the agents' log files below the roots, and decides which adapter reads each.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, FileType};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, Source, SourceFormat};

/// Agents keep their logs a few folders deep; a deeper tree is a loop or not a log folder.
const DEPTH_MAX: usize = 12;
/// How much of a file is read to find out which agent wrote it.
const HEAD_BYTES_MAX: u64 = 16 << 10;

/// A folder, or a single file, in which logs are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub path: PathBuf,
    /// The agent whose logs are there; `None` if the content of each file must decide.
    pub flavor: Option<Flavor>,
}

/// The logs that were found below the roots.
#[derive(Debug, Default)]
pub struct Discovery {
    /// In the order of their agents and paths.
    pub sources: BTreeSet<Source>,
    /// The paths that could not be read, and why.
    pub errors: Vec<SourceError>,
    /// All folders of all captured agents were walked, so a source that was not found is gone.
    pub is_complete: bool,
}

/// A file or folder that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SourceError {
    pub path: PathBuf,
    pub why: String,
}

impl SourceError {
    pub fn new(path: &Path, why: &dyn fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}

/// Lists the logs below the roots. Links that lead out of a root are not followed, and pipes and
/// devices are not opened. A root that does not exist is not an error: its agent is not installed.
pub fn discover(adapters: &[&Adapter], roots: &[Root]) -> Discovery {
    let mut discovery = Discovery::default();
    for start in &walk_starts(adapters, roots) {
        SourceWalk::new(start, &mut discovery).visit_path(&start.path, 0);
    }
    discovery
}

/// Lists those logs that [`discover`] would find at these paths, which are files or whole folders.
/// The write-ahead log of a database stands for the database.
pub(crate) fn discover_paths(
    adapters: &[&Adapter],
    roots: &[Root],
    paths: &BTreeSet<PathBuf>,
) -> Discovery {
    let mut discovery = Discovery::default();
    for start in &walk_starts(adapters, roots) {
        let mut walk = SourceWalk::new(start, &mut discovery);
        for path in paths {
            let database = store::foreign::database_of(path);
            for path in database.iter().chain([path]) {
                if start.path.starts_with(path) {
                    walk.visit_path(&start.path, 0);
                } else if let Some(depth) = start.depth_of(path) {
                    walk.visit_path(path, depth);
                }
            }
        }
    }
    discovery
}

/// Where a walk starts, and the adapters that may claim what it finds.
struct WalkStart<'a> {
    path: PathBuf,
    /// The folder that links must not lead out of.
    root: PathBuf,
    adapters: Vec<&'a Adapter>,
    /// The content of each file decides which adapter reads it.
    reads_content: bool,
    /// The user named this file, so it is an error if it is not a log.
    is_named_file: bool,
}

impl<'a> WalkStart<'a> {
    /// Returns how many folders deep a path is, or `None` if a walk from here would not reach it.
    fn depth_of(&self, path: &Path) -> Option<usize> {
        let depth = path.strip_prefix(&self.path).ok()?.components().count();
        let is_plain =
            |folder: &Path| fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
        let mut between = path.ancestors().skip(1).take(depth.saturating_sub(1));
        (depth <= DEPTH_MAX + 1 && between.all(is_plain)).then_some(depth)
    }
}

fn walk_starts<'a>(adapters: &[&'a Adapter], roots: &[Root]) -> Vec<WalkStart<'a>> {
    let mut all = Vec::new();
    for root in roots {
        let asked: Vec<_> = adapters
            .iter()
            .copied()
            .filter(|adapter| root.flavor.is_none_or(|flavor| adapter.flavor() == flavor))
            .collect();
        let Ok(real) = fs::canonicalize(&root.path) else {
            continue;
        };
        if real.is_file() {
            all.push(WalkStart {
                root: real.parent().unwrap_or(&real).to_owned(),
                path: real,
                adapters: asked,
                reads_content: true,
                is_named_file: true,
            });
            continue;
        }
        all.extend(
            agent_homes(&asked, &real)
                .into_iter()
                .map(|(path, adapters)| WalkStart {
                    root: path.clone(),
                    path,
                    adapters,
                    reads_content: root.flavor.is_none(),
                    is_named_file: false,
                }),
        );
    }
    all
}

/// Agents whose names are not ordinary folder names. A folder with such a name, or with a dot
/// before an agent's name, shows that a root is a collection of agents' homes; only then are
/// folders such as `pi` and `continue` taken for homes too.
const UNAMBIGUOUS_NAMES: &[Flavor] = &[
    Flavor::Claude,
    Flavor::Codex,
    Flavor::Grok,
    Flavor::Gemini,
    Flavor::Opencode,
    Flavor::Copilot,
];

/// Returns the folders to walk below a root, each with its adapters. A root with folders named
/// after agents (`claude`, `.codex`) is a collection of their homes, and only those are walked.
fn agent_homes<'a>(adapters: &[&'a Adapter], root: &Path) -> Vec<(PathBuf, Vec<&'a Adapter>)> {
    let mut homes = Vec::new();
    let mut is_collection = false;
    for adapter in adapters {
        let flavor = adapter.flavor();
        let plain = root.join(flavor.name());
        let dotted = root.join(format!(".{}", flavor.name()));
        for (folder, is_unambiguous) in
            [(plain, UNAMBIGUOUS_NAMES.contains(&flavor)), (dotted, true)]
        {
            if folder.is_dir() && !folder.is_symlink() {
                is_collection |= is_unambiguous;
                let adapters = adapters.iter().copied();
                let adapters = adapters.filter(|other| shares_home(other.flavor(), flavor));
                homes.push((folder, adapters.collect()));
            }
        }
    }
    if is_collection {
        homes
    } else {
        vec![(root.to_owned(), adapters.to_vec())]
    }
}

/// Says whether an agent keeps its logs in this home, which may be another agent's.
fn shares_home(flavor: Flavor, home: Flavor) -> bool {
    flavor == home || (flavor == Flavor::Antigravity && home == Flavor::Gemini)
}

/// An adapter, and how it would read a file.
type AdapterClaim<'a> = (&'a Adapter, SourceFormat);

/// A walk through a folder.
struct SourceWalk<'w, 'a> {
    start: &'w WalkStart<'a>,
    discovery: &'w mut Discovery,
}

impl<'w, 'a> SourceWalk<'w, 'a> {
    fn new(start: &'w WalkStart<'a>, discovery: &'w mut Discovery) -> Self {
        Self { start, discovery }
    }

    fn visit_folder(&mut self, folder: &Path, depth: usize) {
        if depth > DEPTH_MAX {
            return self.report_error(folder, &"nested too deep");
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.report_error(folder, &error),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.report_error(folder, &error);
                    continue;
                }
            };
            self.visit_entry(&entry.path(), entry.file_type(), depth + 1);
        }
    }

    /// Visits a path that is `depth` folders deep.
    fn visit_path(&mut self, path: &Path, depth: usize) {
        let kind = fs::symlink_metadata(path).map(|metadata| metadata.file_type());
        self.visit_entry(path, kind, depth);
    }

    fn visit_entry(&mut self, path: &Path, kind: std::io::Result<FileType>, depth: usize) {
        match kind {
            Ok(kind) if kind.is_dir() => self.visit_folder(path, depth),
            Ok(kind) if kind.is_file() => self.visit_file(path),
            Ok(kind) if kind.is_symlink() => self.visit_link(path),
            // Pipes, sockets and devices: opening one could block forever.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.report_error(path, &error),
        }
    }

    fn visit_link(&mut self, link: &Path) {
        match fs::canonicalize(link) {
            Ok(target) if !target.starts_with(&self.start.root) => {
                self.report_error(link, &"not followed: the link leads out of the folder");
            }
            // A folder inside the root is walked at its own path, not again through the link.
            Ok(target) if target.is_file() => self.visit_file(&target),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.report_error(link, &error),
        }
    }

    fn visit_file(&mut self, path: &Path) {
        let relative = path.strip_prefix(&self.start.root).unwrap_or(path);
        let claims: Vec<_> = self
            .start
            .adapters
            .iter()
            .filter_map(|adapter| Some((*adapter, adapter.claim(&self.start.root, relative)?)))
            .collect();
        let owner = if self.start.reads_content {
            self.owner_by_content(path, &claims)
        } else {
            claims.first().copied()
        };
        if let Some((adapter, format)) = owner {
            let (flavor, path) = (adapter.flavor(), path.to_owned());
            self.discovery.sources.insert(Source {
                flavor,
                path,
                format,
            });
        }
    }

    /// Decides by the first lines of a file which agent wrote it. The file name only decides which
    /// adapter is asked first, because a copied log often has another name.
    fn owner_by_content(
        &mut self,
        path: &Path,
        claims: &[AdapterClaim<'a>],
    ) -> Option<AdapterClaim<'a>> {
        let claimed = claims.first().map(|(_, format)| *format);
        // A file that the user named is read whatever its extension.
        let named = self.start.is_named_file.then_some(SourceFormat::Lines);
        let format = claimed.or_else(|| format_by_extension(path)).or(named)?;
        let head = match read_head(path, format) {
            Ok(head) => head,
            Err(error) => {
                self.report_error(path, &error);
                return None;
            }
        };
        let by_name = claims.iter().find(|claim| claim.0.recognises(&head));
        if let Some(claim) = by_name {
            return Some(*claim);
        }
        let identified = self.start.adapters.iter().find_map(|adapter| {
            let format = adapter.identify(&head)?;
            Some((*adapter, compressed_or(format, path)))
        });
        if identified.is_none() && claims.is_empty() && self.start.is_named_file {
            self.report_error(path, &"not a session log of any supported agent");
        }
        // A log with a damaged start goes to the adapter that claims its name; that reader reports
        // the lines it cannot parse.
        identified.or_else(|| claims.first().copied())
    }

    fn report_error(&mut self, path: &Path, why: &dyn fmt::Display) {
        self.discovery.errors.push(SourceError::new(path, why));
    }
}

/// Returns how a file would be read that no adapter claims, or `None` if logs do not have its
/// extension: then the file is not opened.
fn format_by_extension(path: &Path) -> Option<SourceFormat> {
    match path.extension()?.to_str()? {
        "jsonl" | "ndjson" => Some(SourceFormat::Lines),
        "json" => Some(SourceFormat::Document),
        "zst" => Some(SourceFormat::LinesZstd),
        _ => None,
    }
}

fn compressed_or(format: SourceFormat, path: &Path) -> SourceFormat {
    match format_by_extension(path) {
        Some(SourceFormat::LinesZstd) => SourceFormat::LinesZstd,
        _ => format,
    }
}

fn read_head(path: &Path, format: SourceFormat) -> std::io::Result<String> {
    let file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    if format == SourceFormat::LinesZstd {
        zstd::stream::read::Decoder::new(file)?
            .take(HEAD_BYTES_MAX)
            .read_to_end(&mut bytes)?;
    } else {
        file.take(HEAD_BYTES_MAX).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
