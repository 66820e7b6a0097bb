//! Cleaning for those who hold a text or a secret already.

use super::{CleanString, Redactor, Secret, Seen};

impl Redactor {
    /// Cleans a text that is the caller's to give: clean text is handed back, not copied.
    pub fn take_in(&self, text: String, seen: &mut Seen) -> CleanString {
        let clean = self.clean_in(&text, seen);
        let sensitive = clean.sensitive;
        if clean.is_changed() {
            return clean.into_owned();
        }
        CleanString { text, sensitive }
    }

    /// Returns the memory of a session that has shown these values.
    pub fn seen(&self, secrets: &[Secret]) -> Seen {
        let mut seen = Seen::default();
        for secret in secrets {
            seen.add(secret.rule, &secret.value, &self.key);
        }
        seen
    }
}
