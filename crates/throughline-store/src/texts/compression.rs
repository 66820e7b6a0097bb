//! Compressing and decompressing texts with one zstd context per thread: creating a context takes
//! longer than compressing a short text.

use std::cell::RefCell;
use std::io::{self, Write};

use rusqlite::types::{Value, ValueRef};
use zstd::bulk::{Compressor, Decompressor};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::stream::write::Encoder;

/// zstd level 3 compresses these texts as well as much slower levels.
const ZSTD_LEVEL: i32 = 3;
/// A larger buffer is freed after use instead of kept for the next text.
const BUFFER_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static COMPRESSOR: RefCell<Option<TextCompressor>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    static STREAM: RefCell<Option<Decoder<'static>>> = const { RefCell::new(None) };
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

/// Compresses bytes so that each step can be decompressed without those that follow it.
pub(crate) fn compress_in_steps(bytes: &[u8], ends: &[usize], level: i32) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), level)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    let mut start = 0;
    for end in ends {
        encoder.write_all(&bytes[start..*end])?;
        encoder.flush()?;
        start = *end;
    }
    encoder.write_all(&bytes[start..])?;
    encoder.finish()
}

/// Decompresses the first `size` bytes, or all if there are fewer.
pub(crate) fn decompress_beginning(
    bytes: &[u8],
    size: usize,
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    buffer.clear();
    buffer.reserve_exact(size);
    STREAM.with_borrow_mut(|stream| {
        let stream = match stream {
            Some(stream) => stream,
            none => none.insert(Decoder::new()?),
        };
        stream.reinit()?;
        let mut input = InBuffer::around(bytes);
        let mut output = OutBuffer::around(buffer);
        while output.pos() < size && input.pos() < bytes.len() {
            stream.run(&mut input, &mut output)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_comes_back_without_the_rest() {
        let text: Vec<u8> = (0..300_000_u32)
            .flat_map(|n| (n % 977).to_le_bytes())
            .collect();
        let steps: Vec<usize> = (1..8).map(|step| step * 40_000).collect();
        let data = compress_in_steps(&text, &steps, 19).unwrap();
        assert_eq!(decompress(&data, text.len()).unwrap(), text);
        let mut buffer = Vec::new();
        for size in [1, 40_000, 100_000, text.len(), text.len() + 10] {
            decompress_beginning(&data, size, &mut buffer).unwrap();
            assert!(buffer.len() >= size.min(text.len()));
            assert!(text.starts_with(&buffer), "{size}");
        }
        // The reader needs nothing after this step, so nothing after it is decompressed.
        let cut = &data[..data.len() - 100];
        decompress_beginning(cut, 40_000, &mut buffer).unwrap();
        assert_eq!(buffer[..40_000], text[..40_000]);
        assert!(decompress(cut, text.len()).is_err());
    }

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
