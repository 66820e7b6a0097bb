//! Finds the strings of a JSON text and the objects that contain them, without building values: the
//! caller can then replace single strings and leave every other byte as it is.

use std::ops::Range;

/// The positions of the strings in a JSON text, and the objects and lists that contain them.
#[derive(Debug)]
pub(super) struct JsonOutline<'t> {
    text: &'t str,
    /// The text itself, then its objects and lists. A parent comes before its children.
    nodes: Vec<JsonNode>,
    pub(super) strings: Vec<JsonString>,
}

#[derive(Debug)]
struct JsonNode {
    parent: Option<usize>,
    key: Option<Range<usize>>,
}

/// A string value, but not a key.
#[derive(Debug)]
pub(super) struct JsonString {
    /// The position in the text, including the quotes.
    pub(super) range: Range<usize>,
    key: Option<Range<usize>>,
    /// The object or list that contains the string.
    pub(super) node: usize,
}

impl<'t> JsonOutline<'t> {
    /// Parses a JSON text. Of damaged text it finds the strings before and after the damage.
    pub(super) fn parse(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let root = JsonNode {
            parent: None,
            key: None,
        };
        let mut outline = Self {
            text,
            nodes: vec![root],
            strings: Vec::new(),
        };
        let mut open: Vec<usize> = vec![0];
        let mut key: Option<Range<usize>> = None;
        let mut position = 0;
        while position < bytes.len() {
            let node = open.last().copied().unwrap_or(0);
            match bytes[position] {
                bracket @ (b'{' | b'[') => {
                    // A list in a list has the key of the outer one.
                    let inherited = || outline.nodes[node].key.clone();
                    let key = key
                        .take()
                        .or_else(|| inherited().filter(|_| bracket == b'['));
                    outline.nodes.push(JsonNode {
                        parent: Some(node),
                        key,
                    });
                    open.push(outline.nodes.len() - 1);
                    position += 1;
                }
                b'}' | b']' => {
                    if open.len() > 1 {
                        open.pop();
                    }
                    key = None;
                    position += 1;
                }
                b',' => {
                    key = None;
                    position += 1;
                }
                b'"' => {
                    let end = string_end(bytes, position);
                    let after = end + leading_spaces(&bytes[end..]);
                    if bytes.get(after) == Some(&b':') {
                        let start = position + 1;
                        key = Some(start..end.saturating_sub(1).max(start));
                        position = after + 1;
                        continue;
                    }
                    // The items of a list have the key of the list.
                    let key = key.take().or_else(|| outline.nodes[node].key.clone());
                    outline.strings.push(JsonString {
                        range: position..end,
                        key,
                        node,
                    });
                    position = end;
                }
                _ => position += 1,
            }
        }
        outline
    }

    /// Returns the key of a string, or an empty text if it has none.
    pub(super) fn key(&self, string: &JsonString) -> &'t str {
        self.key_text(string.key.as_ref())
    }

    /// Returns the keys of all nodes, in the order of the nodes.
    pub(super) fn node_keys(&self) -> impl Iterator<Item = &'t str> {
        self.nodes
            .iter()
            .map(|node| self.key_text(node.key.as_ref()))
    }

    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent
    }

    /// Returns a node and the nodes around it, the innermost first.
    pub(super) fn enclosing(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |node| self.parent(*node))
    }

    /// Returns the decoded value of a string. A damaged string stays encoded.
    pub(super) fn value(&self, string: &JsonString) -> String {
        let raw = &self.text[string.range.clone()];
        serde_json::from_str(raw).unwrap_or_else(|_| raw.trim_matches('"').to_owned())
    }

    fn key_text(&self, key: Option<&Range<usize>>) -> &'t str {
        let text = key.and_then(|key| self.text.get(key.clone()));
        text.unwrap_or_default()
    }
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut position = start + 1;
    while position < bytes.len() {
        match bytes[position] {
            b'\\' => position += 2,
            b'"' => return position + 1,
            _ => position += 1,
        }
    }
    bytes.len()
}

fn leading_spaces(bytes: &[u8]) -> usize {
    let spaces = bytes.iter().take_while(|byte| byte.is_ascii_whitespace());
    spaces.count()
}
