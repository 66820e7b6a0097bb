//! Tickets and tokens of the web page. They live in memory, so they end with the daemon.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;

use crate::daemon::home::random_hex;

const TICKET_TIME: Duration = Duration::from_secs(60);
/// How long a person may look at what would be deleted before confirming it.
const CONFIRMATION_TIME: Duration = Duration::from_secs(5 * 60);
const TOKEN_TIME: Duration = Duration::from_secs(12 * 3600);
/// More tabs than anyone opens; the oldest token is dropped.
const TOKENS_MAX: usize = 64;

/// The tickets and tokens that are valid now.
#[derive(Debug, Default)]
pub struct PageAccess {
    secrets: Mutex<Secrets>,
}

#[derive(Debug, Default)]
struct Secrets {
    tickets: Vec<(String, Instant)>,
    tokens: Vec<(String, Instant)>,
    /// Each is the token of a dry run, a colon, and what the dry run was of.
    confirmations: Vec<(String, Instant)>,
}

impl PageAccess {
    /// Makes a ticket that is valid once.
    pub fn issue_ticket(&self) -> io::Result<String> {
        self.issue_ticket_at(Instant::now())
    }

    /// Exchanges a ticket for a token. `None` if the ticket is not valid.
    pub fn redeem(&self, ticket: &str) -> io::Result<Option<String>> {
        self.redeem_at(ticket, Instant::now())
    }

    /// Says whether a token is valid.
    pub fn is_token(&self, token: &str) -> bool {
        self.is_token_at(token, Instant::now())
    }

    /// Makes a token that confirms one change, which `subject` describes, after its dry run.
    pub fn issue_confirmation(&self, subject: &str) -> io::Result<String> {
        let token = random_hex::<16>()?;
        let now = Instant::now();
        let confirmation = format!("{token}:{subject}");
        push(
            &mut self.lock().confirmations,
            &confirmation,
            now + CONFIRMATION_TIME,
            now,
        );
        Ok(token)
    }

    /// Says whether a token confirms this change, and uses it up.
    pub fn confirm(&self, token: &str, subject: &str) -> bool {
        let mut secrets = self.lock();
        let confirmation = format!("{token}:{subject}");
        let found = position(&secrets.confirmations, &confirmation, Instant::now());
        found.map(|at| secrets.confirmations.remove(at)).is_some()
    }

    /// Ends all tokens and tickets.
    pub fn revoke_all(&self) {
        *self.lock() = Secrets::default();
    }

    fn issue_ticket_at(&self, now: Instant) -> io::Result<String> {
        let ticket = random_hex::<16>()?;
        push(&mut self.lock().tickets, &ticket, now + TICKET_TIME, now);
        Ok(ticket)
    }

    fn redeem_at(&self, ticket: &str, now: Instant) -> io::Result<Option<String>> {
        let mut secrets = self.lock();
        let Some(at) = position(&secrets.tickets, ticket, now) else {
            return Ok(None);
        };
        let token = random_hex::<32>()?;
        secrets.tickets.remove(at);
        push(&mut secrets.tokens, &token, now + TOKEN_TIME, now);
        Ok(Some(token))
    }

    fn is_token_at(&self, token: &str, now: Instant) -> bool {
        position(&self.lock().tokens, token, now).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push(secrets: &mut Vec<(String, Instant)>, secret: &str, ends: Instant, now: Instant) {
    secrets.retain(|(_, ends)| *ends > now);
    if secrets.len() == TOKENS_MAX {
        secrets.remove(0);
    }
    secrets.push((secret.to_owned(), ends));
}

/// Returns the position of a secret. Compares all of them in constant time each.
fn position(secrets: &[(String, Instant)], secret: &str, now: Instant) -> Option<usize> {
    let is_same = |known: &str| bool::from(known.as_bytes().ct_eq(secret.as_bytes()));
    let valid = |(known, ends): &(String, Instant)| is_same(known) && *ends > now;
    secrets.iter().position(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_valid_once_and_for_a_minute() {
        let (access, now) = (PageAccess::default(), Instant::now());
        let ticket = access.issue_ticket_at(now).unwrap();
        assert!(!access.is_token_at(&ticket, now));
        let token = access.redeem_at(&ticket, now).unwrap().unwrap();
        assert_eq!(access.redeem_at(&ticket, now).unwrap(), None);
        assert!(access.is_token_at(&token, now));
        assert!(!access.is_token_at(&token, now + TOKEN_TIME));
        let late = access.issue_ticket_at(now).unwrap();
        assert_eq!(access.redeem_at(&late, now + TICKET_TIME).unwrap(), None);
        access.revoke_all();
        assert!(!access.is_token_at(&token, now));
    }

    #[test]
    fn a_confirmation_is_valid_once_and_for_its_own_change() {
        let access = PageAccess::default();
        let token = access.issue_confirmation("forget record 1").unwrap();
        assert!(!access.confirm(&token, "forget record 2"));
        assert!(!access.confirm("", "forget record 1"));
        assert!(access.confirm(&token, "forget record 1"));
        assert!(!access.confirm(&token, "forget record 1"));
    }
}
