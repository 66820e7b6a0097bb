//! The key map: which key performs which action, with the defaults and the user's own keys.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Declares the actions, each with its name in the configuration, its description on the page of
/// keys, and its default keys.
macro_rules! actions {
    ($($variant:ident = $name:literal, $about:literal, [$($key:literal),+];)+) => {
        /// Something that a key does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum UiAction {
            $($variant,)+
        }

        impl UiAction {
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)+];

            pub(super) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            pub(super) const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }

            const fn default_keys(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($key),+],)+ }
            }
        }
    };
}

actions! {
    Up = "up", "up", ["up", "ctrl-p", "k"];
    Down = "down", "down", ["down", "ctrl-n", "j"];
    PageUp = "page-up", "a page up", ["pageup"];
    PageDown = "page-down", "a page down", ["pagedown", "space"];
    First = "first", "first", ["home", "g"];
    Last = "last", "last", ["end", "G"];
    NextPrompt = "next-prompt", "next prompt", ["J"];
    PreviousPrompt = "previous-prompt", "previous prompt", ["K"];
    NextError = "next-error", "next error", ["e"];
    PreviousError = "previous-error", "previous error", ["E"];
    NextHit = "next-hit", "next hit", ["shift-down", "n"];
    PreviousHit = "previous-hit", "previous hit", ["shift-up", "N"];
    Open = "open", "open", ["enter"];
    Back = "back", "clear, back, leave", ["esc"];
    Reach = "scope", "scope, or grouping", ["tab"];
    Types = "types", "types, or starred", ["ctrl-t"];
    Resume = "resume", "resume in its agent", ["ctrl-r", "r"];
    CopyCommand = "copy-command", "copy resume command", ["alt-c", "c"];
    CopyId = "copy-id", "copy the id", ["ctrl-y", "y"];
    Pin = "pin", "pin or unpin", ["alt-p", "p"];
    Forget = "forget", "forget …", ["alt-x", "x"];
    Star = "star", "star a session", ["alt-s", "*"];
    Name = "name", "name a session", ["alt-n", "R"];
    Tag = "tag", "tag a session", ["alt-t", "#"];
    Archive = "archive", "archive a session", ["alt-a", "A"];
    Good = "good", "rate as good", ["+"];
    Bad = "bad", "rate as bad", ["-"];
    NextSession = "next-session", "next session", ["]"];
    PreviousSession = "previous-session", "previous session", ["["];
    Subagent = "subagent", "into a subagent", ["s"];
    Parent = "parent", "out of a subagent", ["u"];
    Follow = "follow", "follow a session", ["t"];
    Fold = "fold", "fold a record", ["o"];
    FoldAll = "fold-all", "fold all records", ["O"];
    Mode = "mode", "all, talk, prompts", ["v"];
    Find = "find", "find in the session", ["f"];
    Search = "search", "search", ["/", "alt-1", "1"];
    Session = "session", "session", ["alt-2", "2"];
    Memory = "memory", "facts and pins", ["alt-3", "3"];
    Given = "given", "what agents got", ["alt-4", "4"];
    Usage = "usage", "tokens and cost", ["alt-5", "5"];
    Keep = "keep", "store and limits", ["alt-6", "6"];
    Patterns = "patterns", "what recurs", ["alt-7", "7"];
    Approve = "approve", "approve a pattern", ["a"];
    Discuss = "discuss", "discuss a pattern", ["d"];
    Distribute = "distribute", "write agents' files", ["w"];
    Palette = "palette", "all actions", ["ctrl-k"];
    Mouse = "mouse", "mouse on or off", ["alt-m", "m"];
    Help = "help", "keys", ["f1", "?"];
    Suspend = "suspend", "suspend", ["ctrl-z"];
    Quit = "quit", "quit", ["ctrl-c", "ctrl-q", "q"];
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyPress {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// The keys of every action.
#[derive(Clone, Debug)]
pub(crate) struct KeyMap {
    bindings: Vec<(KeyPress, UiAction)>,
    names: BTreeMap<UiAction, Vec<String>>,
}

impl KeyMap {
    /// Returns the default keys, with those of the configuration in their place.
    pub(crate) fn new(own: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        if let Some(name) = own.keys().find(|name| action(name).is_none()) {
            let known: Vec<_> = UiAction::ALL.iter().map(|action| action.name()).collect();
            return Err(format!(
                "unknown action {name:?} under [ui.keys]; known actions: {}",
                known.join(", ")
            ));
        }
        let mut map = Self {
            bindings: Vec::new(),
            names: BTreeMap::new(),
        };
        for action in UiAction::ALL {
            let defaults = action.default_keys().iter().map(|key| (*key).to_owned());
            let keys = match own.get(action.name()) {
                Some(keys) => keys.clone(),
                None => defaults.collect(),
            };
            for key in &keys {
                let press =
                    parse_key(key).ok_or_else(|| format!("unknown key {key:?} under [ui.keys]"))?;
                // The user's keys come before the defaults of other actions.
                let at = if own.contains_key(action.name()) {
                    0
                } else {
                    map.bindings.len()
                };
                map.bindings.insert(at, (press, *action));
            }
            map.names.insert(*action, keys);
        }
        Ok(map)
    }

    /// Returns the action of a key. While text is typed, letters are text.
    pub(super) fn action(&self, key: &KeyEvent, is_typing: bool) -> Option<UiAction> {
        let press = normalize(key);
        let is_text = matches!(press.code, KeyCode::Char(_)) && press.modifiers.is_empty();
        if is_text && is_typing {
            return None;
        }
        let bound = self.bindings.iter().find(|(bound, _)| *bound == press);
        bound.map(|(_, action)| *action)
    }

    /// Returns the keys of an action as they are shown.
    pub(super) fn keys(&self, action: UiAction) -> &[String] {
        self.names.get(&action).map_or(&[], Vec::as_slice)
    }

    /// Returns the key of an action that the footer shows.
    pub(super) fn hint(&self, action: UiAction, is_typing: bool) -> Option<&str> {
        let keys = self.keys(action).iter().map(String::as_str);
        let mut fitting = keys.filter(|key| !is_typing || key.chars().count() > 1);
        let first = fitting.next();
        // A single letter is easier where letters are not typed.
        let letter = fitting.find(|key| !is_typing && key.chars().count() == 1);
        letter.or(first)
    }
}

fn action(name: &str) -> Option<UiAction> {
    let mut all = UiAction::ALL.iter().copied();
    all.find(|action| action.name() == name)
}

/// Removes the shift key from characters, which show it themselves.
fn normalize(key: &KeyEvent) -> KeyPress {
    let kept = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
    let mut modifiers = key.modifiers & kept;
    if matches!(key.code, KeyCode::Char(_) | KeyCode::BackTab) {
        modifiers -= KeyModifiers::SHIFT;
    }
    KeyPress {
        code: key.code,
        modifiers,
    }
}

/// Parses a key such as `ctrl-r`, `alt-1`, `pagedown` or `G`.
fn parse_key(text: &str) -> Option<KeyPress> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    for (name, modifier) in [
        ("ctrl-", KeyModifiers::CONTROL),
        ("alt-", KeyModifiers::ALT),
        ("shift-", KeyModifiers::SHIFT),
    ] {
        if let Some(after) = rest.strip_prefix(name) {
            modifiers |= modifier;
            rest = after;
        }
    }
    let mut letters = rest.chars();
    let code = match (letters.next(), letters.next()) {
        (Some(only), None) => KeyCode::Char(only),
        (Some('f'), Some(_)) if rest[1..].parse::<u8>().is_ok() => {
            KeyCode::F(rest[1..].parse().ok()?)
        }
        _ => match rest {
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "pageup" => KeyCode::PageUp,
            "pagedown" => KeyCode::PageDown,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "space" => KeyCode::Char(' '),
            "insert" => KeyCode::Insert,
            "delete" => KeyCode::Delete,
            _ => return None,
        },
    };
    Some(KeyPress { code, modifiers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn letters_are_text_while_typing() {
        let map = KeyMap::new(&BTreeMap::new()).unwrap();
        let x = press(KeyCode::Char('x'), KeyModifiers::NONE);
        assert_eq!(map.action(&x, true), None);
        assert_eq!(map.action(&x, false), Some(UiAction::Forget));
        let resume = press(KeyCode::Char('r'), KeyModifiers::CONTROL);
        assert_eq!(map.action(&resume, true), Some(UiAction::Resume));
        let last = press(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(map.action(&last, false), Some(UiAction::Last));
    }

    #[test]
    fn no_default_key_has_two_actions() {
        let map = KeyMap::new(&BTreeMap::new()).unwrap();
        for (at, (key, action)) in map.bindings.iter().enumerate() {
            let others = &map.bindings[at + 1..];
            assert!(
                others.iter().all(|(other, _)| other != key),
                "{action:?} {key:?}"
            );
        }
    }

    #[test]
    fn the_users_keys_replace_the_defaults() {
        let own = |name: &str, key: &str| {
            KeyMap::new(&BTreeMap::from([(name.to_owned(), vec![key.to_owned()])]))
        };
        let map = own("pin", "ctrl-r").unwrap();
        let key = press(KeyCode::Char('r'), KeyModifiers::CONTROL);
        assert_eq!(map.action(&key, true), Some(UiAction::Pin));
        let old = press(KeyCode::Char('p'), KeyModifiers::NONE);
        assert_eq!(map.action(&old, false), None);
        assert!(own("pins", "p").unwrap_err().contains("known actions: up"));
        assert!(own("pin", "hyper-p").unwrap_err().contains("unknown key"));
    }
}
