//! What is to be changed, decided before anything is.

use std::path::PathBuf;

use memory::Flavor;

use super::document::{self, Format, MARKER, Refused, Wants};
use super::record::{Entry, hash};

/// A file of an agent's configuration and what we want in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub agent: Flavor,
    pub path: PathBuf,
    pub wants: Wants,
}

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub agent: Flavor,
    pub path: PathBuf,
    /// `None`: there is no file.
    pub before: Option<String>,
    /// `None`: there shall be none.
    pub after: Option<String>,
    pub keep: Keep,
    /// The members that are ours to take away again.
    pub made: Vec<String>,
}

/// What is kept as the file's original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// This text; without one, that there was no file.
    Text(Option<String>),
    /// What is kept already.
    AsBefore,
    /// Nothing any more.
    Nothing,
}

/// Decides what putting our entries into a file changes; `None` when they are there.
pub fn install(
    target: &Target,
    text: Option<&str>,
    entry: Option<&Entry>,
) -> Result<Option<Change>, Refused> {
    let format = Format::of(&target.path);
    let now = text.unwrap_or_default();
    if text.is_some() && document::is_installed(now, &target.wants)? {
        return Ok(None);
    }
    if document::has_other_server(now, format)? {
        return Err(Refused::OtherServer);
    }
    let is_ours = entry.is_some() || now.starts_with(MARKER);
    if format == Format::Whole && text.is_some() && !is_ours {
        return Err(Refused::NotOurs);
    }
    let bare = document::without(now, format, entry.map(|entry| entry.made.as_slice()))?;
    let is_untouched = entry.is_some_and(|entry| entry.after == hash(now));
    let keep = if is_untouched {
        Keep::AsBefore
    } else if format == Format::Whole {
        Keep::Text(None)
    } else {
        let was_made = entry.is_some_and(|entry| entry.original.is_none())
            && document::says_nothing(&bare, format);
        Keep::Text(text.filter(|_| !was_made).map(|_| bare.clone()))
    };
    Ok(Some(Change {
        agent: target.agent,
        path: target.path.clone(),
        before: text.map(str::to_owned),
        after: Some(document::with(&bare, &target.wants)?),
        keep,
        made: document::missing(&bare, &target.wants)?,
    }))
}

/// A file and what is known of it, for taking our entries out.
#[derive(Debug)]
pub struct Installed<'a> {
    pub agent: Flavor,
    pub path: PathBuf,
    pub text: Option<String>,
    pub entry: Option<&'a Entry>,
    /// The text from before, where there was one.
    pub original: Option<String>,
}

/// Decides what taking our entries out of a file changes; `None` when there is nothing of ours.
pub fn uninstall(installed: &Installed<'_>) -> Result<Option<Change>, Refused> {
    let Some(now) = &installed.text else {
        return Ok(None);
    };
    let format = Format::of(&installed.path);
    let change = |after: Option<String>| Change {
        agent: installed.agent,
        path: installed.path.clone(),
        before: Some(now.clone()),
        after,
        keep: Keep::Nothing,
        made: Vec::new(),
    };
    let entry = installed.entry;
    if entry.is_some_and(|entry| entry.after == hash(now)) {
        return Ok(Some(change(installed.original.clone())));
    }
    if format == Format::Whole {
        // Somebody has made it their own.
        let changed = entry.is_some() || now.starts_with(MARKER);
        return if changed {
            Err(Refused::NotOurs)
        } else {
            Ok(None)
        };
    }
    let after = document::without(now, format, entry.map(|entry| entry.made.as_slice()))?;
    if after == *now {
        return Ok(None);
    }
    let was_made = entry.is_some_and(|entry| entry.original.is_none());
    let is_over = was_made && document::says_nothing(&after, format);
    Ok(Some(change((!is_over).then_some(after))))
}
