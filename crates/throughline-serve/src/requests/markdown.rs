//! Markdown as a tree of blocks, so that the page, an export and the terminal show the same.
//!
//! A text of a transcript never becomes markup: HTML in it is text, images are only named, and
//! links lead only to `http` and `https` addresses.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;

/// Deeper nesting is flattened, so that a hostile text cannot exhaust the stack of a reader.
const DEPTH_MAX: usize = 12;

/// A block of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum TextBlock {
    Paragraph {
        i: Vec<Inline>,
    },
    Heading {
        level: u8,
        i: Vec<Inline>,
    },
    Code {
        lang: String,
        text: String,
    },
    List {
        start: Option<u64>,
        items: Vec<Vec<Self>>,
    },
    Quote {
        b: Vec<Self>,
    },
    Table {
        head: Vec<Vec<Inline>>,
        rows: Vec<Vec<Vec<Inline>>>,
    },
    Rule,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum Inline {
    Text { s: String },
    Code { s: String },
    Strong { i: Vec<Self> },
    Emphasis { i: Vec<Self> },
    Strike { i: Vec<Self> },
    Link { href: String, i: Vec<Self> },
    Break,
}

/// Parses a text. Returns `None` for a text without any formatting, which needs no blocks.
pub fn parse_blocks(text: &str) -> Option<Vec<TextBlock>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events: Vec<_> = Parser::new_ext(text, options).collect();
    let mut reader = BlockReader {
        events,
        next: 0,
        pieces: 0,
    };
    let blocks = reader.blocks(0);
    let is_plain = match blocks.as_slice() {
        [] => true,
        [TextBlock::Paragraph { i }] => matches!(i.as_slice(), [Inline::Text { .. }]),
        _ => false,
    };
    (!is_plain).then_some(blocks)
}

struct BlockReader<'a> {
    events: Vec<Event<'a>>,
    next: usize,
    /// How many pieces of a line enclose the next one.
    pieces: usize,
}

impl<'a> BlockReader<'a> {
    fn take(&mut self) -> Option<Event<'a>> {
        let event = self.events.get(self.next).cloned();
        self.next += 1;
        event
    }

    /// Reads blocks up to the end of the enclosing one.
    fn blocks(&mut self, depth: usize) -> Vec<TextBlock> {
        let mut blocks = Vec::new();
        while let Some(event) = self.take() {
            match event {
                Event::End(_) => break,
                Event::Rule => blocks.push(TextBlock::Rule),
                Event::Start(tag) => self.block(tag, depth + 1, &mut blocks),
                // The items of a tight list hold text without a paragraph.
                inline => {
                    self.next -= 1;
                    let i = self.loose_inlines();
                    match i.is_empty() {
                        true => {
                            let s = format!("{inline:?}");
                            tracing::debug!(event = s, "unknown event of a text");
                            self.next += 1;
                        }
                        false => blocks.push(TextBlock::Paragraph { i }),
                    }
                }
            }
        }
        blocks
    }

    fn block(&mut self, tag: Tag<'a>, depth: usize, blocks: &mut Vec<TextBlock>) {
        match tag {
            Tag::Paragraph => blocks.push(TextBlock::Paragraph { i: self.inlines() }),
            Tag::Heading { level, .. } => blocks.push(TextBlock::Heading {
                level: level as u8,
                i: self.inlines(),
            }),
            Tag::CodeBlock(kind) => {
                let lang = match kind {
                    CodeBlockKind::Fenced(info) => first_word(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                let text = self.plain_text();
                blocks.push(TextBlock::Code { lang, text });
            }
            Tag::HtmlBlock => {
                let s = self.plain_text();
                let i = vec![Inline::Text { s }];
                blocks.push(TextBlock::Paragraph { i });
            }
            Tag::List(_) | Tag::BlockQuote(_) if depth >= DEPTH_MAX => {
                let s = self.plain_text();
                let i = vec![Inline::Text { s }];
                blocks.push(TextBlock::Paragraph { i });
            }
            Tag::List(start) => {
                let mut items = Vec::new();
                while let Some(Event::Start(Tag::Item)) = self.take() {
                    items.push(self.blocks(depth));
                }
                blocks.push(TextBlock::List { start, items });
            }
            Tag::BlockQuote(_) => {
                let b = self.blocks(depth);
                blocks.push(TextBlock::Quote { b });
            }
            Tag::Table(_) => blocks.push(self.table()),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } => {
                // The item of a tight list may begin with such a piece.
                self.next -= 1;
                let i = self.loose_inlines();
                blocks.push(TextBlock::Paragraph { i });
            }
            _ => blocks.extend(self.blocks(depth)),
        }
    }

    fn table(&mut self) -> TextBlock {
        let (mut head, mut rows) = (Vec::new(), Vec::new());
        while let Some(event) = self.take() {
            match event {
                Event::Start(Tag::TableHead) => head = self.cells(),
                Event::Start(Tag::TableRow) => rows.push(self.cells()),
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        TextBlock::Table { head, rows }
    }

    fn cells(&mut self) -> Vec<Vec<Inline>> {
        let mut cells = Vec::new();
        while let Some(Event::Start(Tag::TableCell)) = self.take() {
            cells.push(self.inlines());
        }
        cells
    }

    /// Reads the pieces up to the end of their block.
    fn inlines(&mut self) -> Vec<Inline> {
        if self.pieces >= DEPTH_MAX {
            let s = self.plain_text();
            return vec![Inline::Text { s }];
        }
        self.pieces += 1;
        let inlines = self.loose_inlines();
        self.pieces -= 1;
        self.next += 1;
        inlines
    }

    /// Reads pieces as long as there are any.
    fn loose_inlines(&mut self) -> Vec<Inline> {
        let mut pieces = Vec::new();
        while let Some(event) = self.events.get(self.next).cloned() {
            self.next += 1;
            match event {
                Event::Text(s) | Event::Html(s) | Event::InlineHtml(s) => {
                    push_text(&mut pieces, &s);
                }
                Event::Code(s) => pieces.push(Inline::Code { s: s.into_string() }),
                Event::SoftBreak => push_text(&mut pieces, "\n"),
                Event::HardBreak => pieces.push(Inline::Break),
                Event::Start(Tag::Strong) => pieces.push(Inline::Strong { i: self.inlines() }),
                Event::Start(Tag::Emphasis) => pieces.push(Inline::Emphasis { i: self.inlines() }),
                Event::Start(Tag::Strikethrough) => {
                    pieces.push(Inline::Strike { i: self.inlines() });
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    let i = self.inlines();
                    push_link(&mut pieces, &dest_url, i);
                }
                Event::Start(Tag::Image { dest_url, .. }) => {
                    let alt = self.plain_text();
                    let s = format!("[image: {alt}]");
                    push_link(&mut pieces, &dest_url, vec![Inline::Text { s }]);
                }
                _ => {
                    self.next -= 1;
                    break;
                }
            }
        }
        pieces
    }

    /// Reads the text up to the end of the block, without its formatting.
    fn plain_text(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 0_usize;
        while let Some(event) = self.take() {
            match event {
                Event::End(_) if depth == 0 => break,
                Event::End(_) => depth -= 1,
                Event::Start(_) => depth += 1,
                Event::Text(s) | Event::Code(s) | Event::Html(s) | Event::InlineHtml(s) => {
                    text.push_str(&s);
                }
                Event::SoftBreak | Event::HardBreak => text.push('\n'),
                _ => {}
            }
        }
        text
    }
}

/// Adds a link, or only its text if the address is not one of the web.
fn push_link(pieces: &mut Vec<Inline>, href: &str, i: Vec<Inline>) {
    let is_web = href.starts_with("https://") || href.starts_with("http://");
    if is_web {
        let href = href.to_owned();
        pieces.push(Inline::Link { href, i });
    } else {
        pieces.extend(i);
        push_text(pieces, &format!(" ({href})"));
    }
}

/// Adds a text to the last piece, or as a new one.
fn push_text(pieces: &mut Vec<Inline>, text: &str) {
    match pieces.last_mut() {
        Some(Inline::Text { s }) => s.push_str(text),
        _ => pieces.push(Inline::Text { s: text.to_owned() }),
    }
}

fn first_word(info: &str) -> String {
    let word = info.split([' ', ',', '{']).next().unwrap_or_default();
    word.chars().take(32).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let blocks = parse_blocks(text);
        assert_eq!(serde_json::to_string(&blocks).unwrap(), expected);
    }

    #[test]
    fn plain_text_needs_no_blocks() {
        check("The cache is cleared at noon.", "null");
        check("", "null");
    }

    #[test]
    fn blocks_keep_their_order_and_nesting() {
        check(
            "# A `b`\n\n- one\n  - two\n- **x** y\n\n```rust,ignore\nfn a() {}\n```",
            concat!(
                r#"[{"t":"heading","level":1,"i":[{"t":"text","s":"A "},{"t":"code","s":"b"}]},"#,
                r#"{"t":"list","start":null,"items":[[{"t":"paragraph","i":[{"t":"text","s":"on"#,
                r#"e"}]},{"t":"list","start":null,"items":[[{"t":"paragraph","i":[{"t":"text",""#,
                r#"s":"two"}]}]]}],[{"t":"paragraph","i":[{"t":"strong","i":[{"t":"text","s":"x"#,
                r#""}]},{"t":"text","s":" y"}]}]]},{"t":"code","lang":"rust","text":"fn a() {}\"#,
                r#"n"}]"#,
            ),
        );
        check(
            "| a | b |\n| - | - |\n| 1 | `2` |",
            concat!(
                r#"[{"t":"table","head":[[{"t":"text","s":"a"}],[{"t":"text","s":"b"}]],"rows":"#,
                r#"[[[{"t":"text","s":"1"}],[{"t":"code","s":"2"}]]]}]"#,
            ),
        );
        check(
            "> a\n\n---",
            r#"[{"t":"quote","b":[{"t":"paragraph","i":[{"t":"text","s":"a"}]}]},{"t":"rule"}]"#,
        );
    }

    #[test]
    fn markup_and_foreign_addresses_stay_text() {
        check(
            "<script>x</script>\n\n[a](javascript:b) ![c](http://d/e.png) <img onerror=f>",
            concat!(
                r#"[{"t":"paragraph","i":[{"t":"text","s":"<script>x</script>\n"}]},{"t":"parag"#,
                r#"raph","i":[{"t":"text","s":"a (javascript:b) "},{"t":"link","href":"http://d"#,
                r#"/e.png","i":[{"t":"text","s":"[image: c]"}]},{"t":"text","s":" <img onerror="#,
                r#"f>"}]}]"#,
            ),
        );
    }

    #[test]
    fn any_nesting_ends() {
        let deep = format!("{}a", "> ".repeat(5_000));
        assert!(parse_blocks(&deep).is_some());
        for text in [
            "- ", "1. - a\n   b\n", "|", "| a |\n|-|\n", "``", "*a **b* c**", "[a]: b",
        ] {
            parse_blocks(text);
        }
    }
}
