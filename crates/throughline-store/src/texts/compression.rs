//! Compressing and decompressing texts with one zstd context per thread: creating a context takes
//! longer than compressing a short text.

use std::cell::RefCell;
use std::io;

use rusqlite::types::{Value, ValueRef};
use zstd::bulk::{Compressor, Decompressor};

/// zstd level 3 compresses these texts as well as much slower levels.
const ZSTD_LEVEL: i32 = 3;
/// A larger buffer is freed after use instead of kept for the next text.
const BUFFER_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static COMPRESSOR: RefCell<Option<TextCompressor>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

struct TextCompressor {
    context: Compressor<'static>,
    /// Has room for the largest possible result, so that what is returned can have its exact size:
    /// compressed texts wait in memory until they are written.
    buffer: Vec<u8>,
}

pub(crate) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = match compressor {
            Some(compressor) => compressor,
            none => none.insert(TextCompressor {
                context: Compressor::new(ZSTD_LEVEL)?,
                buffer: Vec::new(),
            }),
        };
        let buffer = &mut compressor.buffer;
        buffer.clear();
        buffer.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        compressor.context.compress_to_buffer(bytes, buffer)?;
        let compressed = buffer.as_slice().to_vec();
        if buffer.capacity() > BUFFER_BYTES_MAX {
            *buffer = Vec::new();
        }
        Ok(compressed)
    })
}

/// Decompresses to at most `size_max` bytes.
pub(crate) fn decompress(bytes: &[u8], size_max: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(size_max);
    decompress_into(bytes, &mut text)?;
    Ok(text)
}

/// Decompresses into a buffer, up to its capacity.
pub(crate) fn decompress_into(bytes: &[u8], buffer: &mut Vec<u8>) -> io::Result<()> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(bytes, buffer)?;
        Ok(())
    })
}

/// Returns a text as the bytes of a cell that [`cell_text`] reads.
pub(crate) fn compressed_cell(text: &str) -> Value {
    match compress(text.as_bytes()) {
        Ok(data) => Value::Blob(data),
        Err(_) => Value::Text(text.to_owned()),
    }
}

/// Returns the text of a cell: texts are stored as they are, or compressed as bytes.
pub(crate) fn cell_text(value: ValueRef<'_>) -> Option<String> {
    let bytes = match value {
        ValueRef::Text(text) => text.to_vec(),
        ValueRef::Blob(data) => {
            let size = Decompressor::upper_bound(data).unwrap_or(BUFFER_BYTES_MAX);
            decompress(data, size.min(BUFFER_BYTES_MAX)).ok()?
        }
        _ => return None,
    };
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_whatever_was_compressed_before() {
        let texts = [
            "",
            "a",
            &"lorem ipsum ".repeat(9_000),
            "b\0c",
            &"x".repeat(5 << 20),
        ];
        for text in texts.iter().chain(texts.iter().rev()) {
            let data = compress(text.as_bytes()).unwrap();
            assert_eq!(
                data,
                zstd::bulk::compress(text.as_bytes(), ZSTD_LEVEL).unwrap()
            );
            assert_eq!(decompress(&data, text.len()).unwrap(), text.as_bytes());
            if text.len() > 1 {
                assert!(decompress(&data, text.len() - 1).is_err());
            }
        }
    }
}
