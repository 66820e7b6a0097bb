//! Reads a SQLite file at the level of pages, trees and rows, also where SQLite itself refuses to.
//!
//! SQLite stops at the first corrupt page. Here a corrupt page costs only the rows on it.
//! [`DatabaseImage`] is the file with the commits of its write-ahead log laid over it, [`tree`]
//! finds the rows of a page and the pages of a tree, [`row`] decodes a row. Nothing here writes,
//! and nothing knows what the rows mean: that is the job of
//! [`crate::salvage::repair`](mod@crate::salvage::repair).
//!
//! Only the cells that a page lists are read, never its free space: deleted rows do not come back.

pub(crate) mod row;
pub(crate) mod tree;
mod wal;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, Result};

/// The page size of a store. It is SQLite's default, which no store changes.
const PAGE_BYTES: usize = 4096;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Size of the database header, which precedes the tree on the first page.
pub(crate) const HEADER_BYTES: usize = 100;

/// A database file with the commits of its write-ahead log applied.
#[derive(Debug)]
pub(crate) struct DatabaseImage {
    database: Option<File>,
    wal: Option<File>,
    /// Offsets in the log of the pages that it holds a newer version of.
    wal_offsets: HashMap<u32, u64>,
    page_bytes: usize,
    /// Bytes that are reserved at the end of each page (SQLCipher keeps its MAC there).
    reserved_bytes: usize,
    pages: u32,
}

impl DatabaseImage {
    /// Opens a database and its log. Either file may be missing.
    pub(crate) fn open(database: &Path, log: &Path) -> Result<Self> {
        let there = |path: &Path| match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path)(error)),
        };
        let (database, log) = (there(database)?, there(log)?);
        let length = |file: &Option<File>| {
            let metadata = file.as_ref().map(File::metadata).transpose();
            metadata.map(|metadata| metadata.map_or(0, |metadata| metadata.len()))
        };
        let size = length(&database).map_err(Error::io("the database"))?;
        let mut image = Self {
            database,
            wal: log,
            wal_offsets: HashMap::new(),
            page_bytes: PAGE_BYTES,
            reserved_bytes: 0,
            pages: 0,
        };
        image.measure();
        image.pages = u32::try_from(size / image.page_bytes as u64).unwrap_or(u32::MAX);
        if let Some(log) = &image.wal {
            let read = wal::read_wal(log, image.page_bytes);
            if let Some(pages) = read.pages {
                image.pages = pages;
                image.wal_offsets = read.page_offsets;
            }
        }
        Ok(image)
    }

    /// Returns how many pages the database should have.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns how many bytes of a page SQLite uses.
    pub(crate) fn usable_bytes(&self) -> usize {
        self.page_bytes - self.reserved_bytes
    }

    /// Returns a page by its number. Numbers start at one.
    pub(crate) fn page(&self, number: u32) -> Option<Vec<u8>> {
        if number == 0 || number > self.pages {
            return None;
        }
        match (self.wal_offsets.get(&number), &self.wal, &self.database) {
            (Some(offset), Some(log), _) => read_at(log, *offset, self.page_bytes),
            (None, _, Some(database)) => {
                let offset = u64::from(number - 1) * self.page_bytes as u64;
                read_at(database, offset, self.page_bytes)
            }
            _ => None,
        }
    }

    /// Returns a number of the header, even when the rest of the header is damaged.
    pub(crate) fn header_u32(&self, offset: usize) -> Option<u32> {
        number(&self.page(1)?, offset)
    }

    /// Returns the pages on the free list.
    pub(crate) fn free_pages(&self) -> HashSet<u32> {
        let mut free = HashSet::new();
        let sound = self.page(1).is_some_and(|page| page.starts_with(MAGIC));
        let mut trunk = if sound { self.header_u32(32) } else { None }.unwrap_or(0);
        while trunk != 0 && free.insert(trunk) {
            let Some(page) = self.page(trunk) else { break };
            let leaves = number(&page, 4).unwrap_or(0) as usize;
            let leaves = leaves.min(self.page_bytes / 4 - 2);
            free.extend((0..leaves).filter_map(|leaf| number(&page, 8 + 4 * leaf)));
            trunk = number(&page, 0).unwrap_or(0);
        }
        free
    }

    /// Returns the page size of the header when it is plausible.
    fn measure(&mut self) {
        let Some(file) = &self.database else { return };
        let Some(header) = read_at(file, 0, HEADER_BYTES) else {
            return;
        };
        if !header.starts_with(MAGIC) {
            return;
        }
        let size = usize::from(u16::from_be_bytes([header[16], header[17]]));
        let size = if size == 1 { 1 << 16 } else { size };
        if size.is_power_of_two() && size >= 512 {
            self.page_bytes = size;
        }
        let reserved = usize::from(header[20]);
        if self.page_bytes - reserved >= 480 {
            self.reserved_bytes = reserved;
        }
    }
}

fn read_at(mut file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads a big-endian number.
fn number(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
