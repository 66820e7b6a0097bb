//! The web page: its files, embedded in the program.
//!
//! The sources lie in `ui/`; `tools/web/build` makes `dist/` of them, which is committed, so that
//! building Throughline needs no Node. A test builds `dist/` again and compares the bytes. This
//! crate only holds the files: `serve` decides who gets them.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")
)]

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

const INDEX: PageFile = PageFile {
    content_type: "text/html; charset=utf-8",
    bytes: include_bytes!("../dist/index.html"),
};

/// Returns the file at a path below `/ui/`. Screens have paths of their own, which the script
/// reads, so every path that is not a file leads to the page itself.
pub fn page_file(path: &str) -> PageFile {
    match path {
        "app.js" => script(include_bytes!("../dist/app.js")),
        "shared.js" => script(include_bytes!("../dist/shared.js")),
        "more.js" => script(include_bytes!("../dist/more.js")),
        "highlight.js" => script(include_bytes!("../dist/highlight.js")),
        "app.css" => PageFile {
            content_type: "text/css; charset=utf-8",
            bytes: include_bytes!("../dist/app.css"),
        },
        "icon.svg" => PageFile {
            content_type: "image/svg+xml",
            bytes: include_bytes!("../dist/icon.svg"),
        },
        _ => INDEX,
    }
}

const fn script(bytes: &'static [u8]) -> PageFile {
    PageFile {
        content_type: "text/javascript; charset=utf-8",
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_only_files_that_exist() {
        let page = std::str::from_utf8(INDEX.bytes).unwrap();
        let named = page
            .split("/ui/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let named: Vec<_> = named.collect();
        assert!(named.len() >= 3, "{named:?}");
        for name in named {
            assert_ne!(page_file(name).content_type, INDEX.content_type, "{name}");
        }
        assert!(
            !page.contains("http"),
            "the page loads nothing from elsewhere"
        );
    }
}
