//! Searches a text for all the secrets of a session in one pass.
//!
//! Values arrive one at a time, and extending an automaton means building it again. The values are
//! therefore kept in groups, each with its own automaton, and a group is merged with the previous
//! one as soon as it is as large. Each value is then built into an automaton a logarithmic number
//! of times, and a text is searched by a logarithmic number of automata.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use memchr::memmem;

use crate::session::{PREFIX_BYTES_MIN, Secret};

/// So many values wait for an automaton; they are searched for one by one.
const UNGROUPED_MAX: usize = 8;
/// A shorter probe would match everywhere.
const PROBE_BYTES_MIN: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct ValueIndex {
    probes: Vec<Probe>,
    groups: Vec<ProbeGroup>,
    /// How many of the probes are in groups.
    grouped: usize,
    /// Values without a probe. Every text must be decoded and searched for them.
    unprobed: Vec<usize>,
}

/// The part of a value that is searched for before the rest is compared.
#[derive(Debug)]
struct Probe {
    value: usize,
    /// Its offset in the value.
    offset: usize,
    len: usize,
    /// How much of the value must match.
    head_len: usize,
}

#[derive(Debug)]
struct ProbeGroup {
    /// `None` when it could not be built. Its values are then searched for one by one.
    automaton: Option<AhoCorasick>,
    start: usize,
    len: usize,
}

impl ValueIndex {
    /// Adds the last of `values`.
    pub(crate) fn add(&mut self, values: &[Secret]) {
        let Some(value) = values.len().checked_sub(1) else {
            return;
        };
        match probe(value, &values[value].value) {
            Some(probe) => self.probes.push(probe),
            None => self.unprobed.push(value),
        }
        if self.probes.len() - self.grouped < UNGROUPED_MAX {
            return;
        }
        let (mut start, mut len) = (self.grouped, self.probes.len() - self.grouped);
        while let Some(last) = self.groups.pop_if(|last| last.len <= len) {
            start = last.start;
            len += last.len;
        }
        let patterns = self.probes[start..].iter().map(|probe| probe.text(values));
        let automaton = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns)
            .ok();
        self.groups.push(ProbeGroup {
            automaton,
            start,
            len,
        });
        self.grouped = self.probes.len();
    }

    /// Says, of text that may still be escaped, whether it may hold a value.
    pub(crate) fn may_find(&self, text: &str, values: &[Secret]) -> bool {
        let bytes = text.as_bytes();
        !self.unprobed.is_empty()
            || self
                .ungrouped_probes()
                .any(|probe| memmem::find(bytes, probe.text(values)).is_some())
            || self
                .automata()
                .any(|(automaton, _)| automaton.is_match(text))
    }

    /// Calls `each` with the index of a value and every offset where its head occurs.
    pub(crate) fn for_each_match(
        &self,
        text: &str,
        values: &[Secret],
        mut each: impl FnMut(usize, usize),
    ) {
        let bytes = text.as_bytes();
        for &value in &self.unprobed {
            for at in memmem::find_iter(bytes, &values[value].value) {
                each(value, at);
            }
        }
        let mut meet = |probe: &Probe, at: usize| {
            let secret = &values[probe.value];
            let head = &secret.value.as_bytes()[..probe.head_len];
            if let Some(start) = at.checked_sub(probe.offset)
                && bytes[start..].starts_with(head)
            {
                each(probe.value, start);
            }
        };
        for probe in self.ungrouped_probes() {
            for at in memmem::find_iter(bytes, probe.text(values)) {
                meet(probe, at);
            }
        }
        for (automaton, start) in self.automata() {
            for hit in automaton.find_overlapping_iter(text) {
                meet(&self.probes[start + hit.pattern().as_usize()], hit.start());
            }
        }
    }

    fn automata(&self) -> impl Iterator<Item = (&AhoCorasick, usize)> {
        self.groups
            .iter()
            .filter_map(|group| Some((group.automaton.as_ref()?, group.start)))
    }

    /// The probes that are in no automaton.
    fn ungrouped_probes(&self) -> impl Iterator<Item = &Probe> {
        let unbuilt = self.groups.iter().filter(|group| group.automaton.is_none());
        unbuilt
            .flat_map(|group| &self.probes[group.start..group.start + group.len])
            .chain(&self.probes[self.grouped..])
    }
}

impl Probe {
    fn text<'v>(&self, values: &'v [Secret]) -> &'v [u8] {
        &values[self.value].value.as_bytes()[self.offset..self.offset + self.len]
    }
}

/// Returns the longest part of a value's head that no encoding changes.
fn probe(value: usize, text: &str) -> Option<Probe> {
    let head_len = head_len(text);
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let mut best = (0, 0);
    let mut start = 0;
    for part in text.as_bytes()[..head_len].chunk_by(|a, b| is_plain(a) == is_plain(b)) {
        if is_plain(&part[0]) && part.len() > best.1 {
            best = (start, part.len());
        }
        start += part.len();
    }
    (best.1 >= PROBE_BYTES_MIN).then_some(Probe {
        value,
        offset: best.0,
        len: best.1,
        head_len,
    })
}

/// Returns how much of a value must match. The prefix of a vendor is public, so the head reaches
/// beyond it.
fn head_len(value: &str) -> usize {
    let prefix = value
        .rfind(['_', '-', '.'])
        .filter(|&at| at < 20)
        .map_or(0, |at| at + 7);
    value.floor_char_boundary(PREFIX_BYTES_MIN.max(prefix).min(value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(count: usize) -> Vec<Secret> {
        let value = |n: usize| format!("{}-Zq{n:05}/x+{n}", blake3::hash(&n.to_le_bytes()));
        let secret = |n| Secret {
            rule: "token",
            value: value(n)[40..].to_owned(),
        };
        (0..count).map(secret).collect()
    }

    #[test]
    fn every_value_is_found_however_many_there_are() {
        let all = secrets(300);
        let mut index = ValueIndex::default();
        for count in 1..=all.len() {
            index.add(&all[..count]);
        }
        for secret in &all {
            let text = format!("a {} b", secret.value);
            let mut found = Vec::new();
            index.for_each_match(&text, &all, |value, at| found.push((&all[value].value, at)));
            assert_eq!(found, [(&secret.value, 2)]);
            assert!(index.may_find(&text.replace('/', "\\/"), &all));
        }
        assert!(!index.may_find("nothing of the kind", &all));
    }

    #[test]
    fn groups_grow_geometrically() {
        let all = secrets(2000);
        let mut index = ValueIndex::default();
        for count in 1..=all.len() {
            index.add(&all[..count]);
        }
        assert!(index.groups.len() <= 9, "{}", index.groups.len());
        assert!(index.probes.len() - index.grouped < UNGROUPED_MAX);
    }
}
