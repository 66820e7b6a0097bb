//! Finding the agents' files.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, FileType};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, Source, SourceFormat};

/// Agents keep their logs a few folders deep; deeper is a loop or not a log folder.
const DEPTH_MAX: usize = 12;
/// How much of a file of unknown origin is looked at to tell whose it is.
const HEAD_BYTES_MAX: u64 = 16 << 10;

/// A folder to look in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub path: PathBuf,
    /// Whose logs lie there; `None` when each file must be asked.
    pub flavor: Option<Flavor>,
}

/// What a look through the folders found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// In the order of their paths.
    pub sources: BTreeSet<Source>,
    /// What could not be looked at, and why.
    pub errors: Vec<SourceError>,
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

/// Lists the logs below the roots. Links that lead out of a root are not followed, nor are pipes
/// and devices opened. A root that does not exist is an agent that is not installed.
pub fn discover(adapters: &[&Adapter], roots: &[Root]) -> Discovery {
    let mut found = Discovery::default();
    for start in walk_starts(adapters, roots) {
        start.walk(&mut found).visit_path(&start.path, 0);
    }
    found
}

/// Lists those logs that [`discover`] would find at these paths: files, or folders with all that
/// lies in them. What is beside a database (its log) stands for the database.
pub fn discover_paths(
    adapters: &[&Adapter],
    roots: &[Root],
    paths: &BTreeSet<PathBuf>,
) -> Discovery {
    let mut found = Discovery::default();
    for start in walk_starts(adapters, roots) {
        for path in paths {
            let database = store::foreign::database_of(path);
            for path in database.iter().chain([path]) {
                if start.path.starts_with(path) {
                    start.walk(&mut found).visit_path(&start.path, 0);
                } else if let Some(depth) = start.depth_of(path) {
                    start.walk(&mut found).visit_path(path, depth);
                }
            }
        }
    }
    found
}

/// A folder or file to look at, and whom to ask about what is found there.
struct WalkStart<'a> {
    path: PathBuf,
    /// The folder that links must not lead out of.
    root: PathBuf,
    adapters: Vec<&'a Adapter>,
    reads_content: bool,
    is_named_file: bool,
}

impl<'a> WalkStart<'a> {
    fn walk<'s>(&'s self, found: &'s mut Discovery) -> SourceWalk<'s, 'a> {
        SourceWalk {
            adapters: &self.adapters,
            root: &self.root,
            reads_content: self.reads_content,
            is_named_file: self.is_named_file,
            discovery: found,
        }
    }

    /// Returns how many folders deep a path lies, or `None` when a walk from here would not come
    /// to it.
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

/// Agents whose names are no folder of anything else. One of them, or a name with a dot, shows that
/// a root is a collection of homes; then `pi` and `continue` are agents' names too.
const UNAMBIGUOUS_NAMES: &[Flavor] = &[
    Flavor::Claude,
    Flavor::Codex,
    Flavor::Grok,
    Flavor::Gemini,
    Flavor::Opencode,
    Flavor::Copilot,
];

/// Returns the folders to walk below a root. A root with folders named after agents (`claude`,
/// `.codex`) is a collection of their homes, and only those are looked at.
fn agent_homes<'a>(adapters: &[&'a Adapter], root: &Path) -> Vec<(PathBuf, Vec<&'a Adapter>)> {
    let mut homes = Vec::new();
    let mut sure = false;
    for adapter in adapters {
        let flavor = adapter.flavor();
        let plain = root.join(flavor.name());
        let dotted = root.join(format!(".{}", flavor.name()));
        for (folder, is_sure) in [(plain, UNAMBIGUOUS_NAMES.contains(&flavor)), (dotted, true)] {
            if folder.is_dir() && !folder.is_symlink() {
                sure |= is_sure;
                let tenants = adapters.iter().copied();
                homes.push((
                    folder,
                    tenants
                        .filter(|a| shares_home(a.flavor(), flavor))
                        .collect(),
                ));
            }
        }
    }
    if sure {
        homes
    } else {
        vec![(root.to_owned(), adapters.to_vec())]
    }
}

/// Says whether an agent keeps its logs in the home of another, or it is that other.
fn shares_home(flavor: Flavor, home: Flavor) -> bool {
    flavor == home || (flavor == Flavor::Antigravity && home == Flavor::Gemini)
}

/// An adapter, and how it would read a file.
type AdapterClaim<'a> = (&'a Adapter, SourceFormat);

struct SourceWalk<'a, 'b> {
    adapters: &'a [&'b Adapter],
    root: &'a Path,
    /// Look into each file to decide whose it is.
    reads_content: bool,
    /// The user named this file, so it is an error when it is no log.
    is_named_file: bool,
    discovery: &'a mut Discovery,
}

impl<'b> SourceWalk<'_, 'b> {
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

    /// Looks at a path that lies `depth` folders deep.
    fn visit_path(&mut self, path: &Path, depth: usize) {
        let kind = fs::symlink_metadata(path).map(|metadata| metadata.file_type());
        self.visit_entry(path, kind, depth);
    }

    fn visit_entry(&mut self, path: &Path, kind: std::io::Result<FileType>, depth: usize) {
        match kind {
            Ok(kind) if kind.is_dir() => self.visit_folder(path, depth),
            Ok(kind) if kind.is_file() => self.visit_file(path),
            Ok(kind) if kind.is_symlink() => self.visit_link(path),
            // Pipes, sockets and devices: opening one could wait for ever.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.report_error(path, &error),
        }
    }

    fn visit_link(&mut self, link: &Path) {
        match fs::canonicalize(link) {
            Ok(target) if !target.starts_with(self.root) => {
                self.report_error(
                    link,
                    &"a link that leads out of the folder was not followed",
                );
            }
            // A folder inside the root is walked where it lies; the link would walk it again.
            Ok(target) if target.is_file() => self.visit_file(&target),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.report_error(link, &error),
        }
    }

    fn visit_file(&mut self, path: &Path) {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let claims: Vec<_> = self
            .adapters
            .iter()
            .filter_map(|adapter| Some((*adapter, adapter.claim(self.root, relative)?)))
            .collect();
        let owner = if self.reads_content {
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

    /// Decides by the first lines of a file which agent wrote it. The name only says whom to ask
    /// first, since a copied log often has another one.
    fn owner_by_content(
        &mut self,
        path: &Path,
        claims: &[AdapterClaim<'b>],
    ) -> Option<AdapterClaim<'b>> {
        let claimed = claims.first().map(|(_, format)| *format);
        // A file that the user named is looked into whatever its ending.
        let named = self.is_named_file.then_some(SourceFormat::Lines);
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
        let identified = self.adapters.iter().find_map(|adapter| {
            let format = adapter.identify(&head)?;
            Some((*adapter, compressed_or(format, path)))
        });
        if identified.is_none() && claims.is_empty() && self.is_named_file {
            self.report_error(path, &"not a session log of an agent that is known here");
        }
        // A log whose beginning is damaged is read by the agent that its name speaks of, whose
        // reader reports what it cannot understand.
        identified.or_else(|| claims.first().copied())
    }

    fn report_error(&mut self, path: &Path, why: &dyn fmt::Display) {
        self.discovery.errors.push(SourceError::new(path, why));
    }
}

/// Returns how a file that nobody claims would be read, or `None` when its ending is not one that
/// logs have: its content is then not looked at.
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
