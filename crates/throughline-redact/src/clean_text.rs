//! Text that has passed the redactor. No other code can make these types, so a function that takes
//! one of them cannot be handed text with a known secret in it.

use std::borrow::Cow;

/// Redacted text that borrows from the original when nothing had to be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanText<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) sensitive: bool,
}

/// A [`CleanText`] that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanString {
    pub(crate) text: String,
    pub(crate) sensitive: bool,
}

impl<'a> CleanText<'a> {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_changed(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }

    /// True when the text may hold a secret that was too uncertain to replace.
    pub fn sensitive(&self) -> bool {
        self.sensitive
    }

    pub fn into_owned(self) -> CleanString {
        CleanString {
            text: self.text.into_owned(),
            sensitive: self.sensitive,
        }
    }

    pub fn into_cow(self) -> Cow<'a, str> {
        self.text
    }
}

impl CleanString {
    /// Wraps a constant of the program, which holds no secret.
    pub fn from_static(text: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            sensitive: false,
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True when the text may hold a secret that was too uncertain to replace.
    pub fn sensitive(&self) -> bool {
        self.sensitive
    }

    pub fn into_string(self) -> String {
        self.text
    }
}

impl From<CleanText<'_>> for CleanString {
    fn from(clean: CleanText<'_>) -> Self {
        clean.into_owned()
    }
}

impl AsRef<str> for CleanText<'_> {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for CleanString {
    fn as_ref(&self) -> &str {
        &self.text
    }
}
