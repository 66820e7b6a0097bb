//! Starting a session's memory of secrets from values at hand.

use super::{Redactor, Secret, Seen};

impl Redactor {
    /// Returns the memory of a session that has shown these values.
    pub fn seen(&self, secrets: &[Secret]) -> Seen {
        let mut seen = Seen::default();
        for secret in secrets {
            seen.add(secret.rule, &secret.value, &self.key);
        }
        seen
    }
}
