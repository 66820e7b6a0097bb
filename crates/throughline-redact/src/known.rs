//! Cleaning for those who hold a text or a secret already.

use super::{CleanString, Redactor, Secret, SessionSecrets};

impl Redactor {
    /// Cleans a text that is the caller's to give: clean text is handed back, not copied.
    pub fn clean_owned(&self, text: String, seen: &mut SessionSecrets) -> CleanString {
        let clean = self.clean_in_session(&text, seen);
        let sensitive = clean.sensitive;
        if clean.is_changed() {
            return clean.into_owned();
        }
        CleanString { text, sensitive }
    }

    /// Cleans a text line by line: most lines of a log hold no secret and are passed at a glance.
    /// `others` are sessions whose secrets the text may hold too.
    pub fn clean_lines(
        &self,
        text: &str,
        seen: &mut SessionSecrets,
        others: &mut [&mut SessionSecrets],
    ) -> CleanString {
        let mut cleaned = String::with_capacity(text.len());
        let mut sensitive = false;
        for line in text.split_inclusive('\n') {
            let clean = self.clean_in_session(line, seen);
            sensitive |= clean.sensitive;
            let mut clean = clean.into_cow();
            for other in others.iter_mut() {
                // The rules have looked at the line; only the session's values may be new.
                if other.may_find(&clean) {
                    let other = self.clean_in_session(&clean, other).into_owned();
                    clean = other.into_string().into();
                }
            }
            cleaned.push_str(&clean);
        }
        CleanString {
            text: cleaned,
            sensitive,
        }
    }

    /// Hashes with the installation's key: it can be compared, and not be guessed.
    pub fn keyed_hash_for(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in std::iter::once(&purpose.as_bytes()).chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut short = [0; 16];
        short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        short
    }

    /// Adds a value that is secret for a reason of its own to those of a session.
    pub fn add_secret(&self, rule: &'static str, value: &str, seen: &mut SessionSecrets) {
        seen.add(rule, value, &self.key);
    }

    /// Returns the memory of a session that has shown these values.
    pub fn session_with(&self, secrets: &[Secret]) -> SessionSecrets {
        let mut seen = SessionSecrets::default();
        for secret in secrets {
            seen.add(secret.rule, &secret.value, &self.key);
        }
        seen
    }
}
