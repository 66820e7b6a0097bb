//! Remembers where to read again when a sweep ends between two lines that belong together.
//!
//! A call's edit is emitted with its result, and a queued prompt when it is delivered. The reader's
//! state must not contain their text, so the next sweep starts at the line that does.

use std::sync::Arc;

use crate::{InputLine, ResumePoint};

/// How far back a sweep starts again. A pin that is older than this has been abandoned.
const LINES_MAX: u64 = 500;

#[derive(Debug, Default)]
pub(crate) struct PinnedLines(Vec<(String, Arc<ResumePoint>)>);

impl PinnedLines {
    /// Pins a line until `name` is released. `state` returns the reader's state before the line.
    pub(crate) fn pin(
        &mut self,
        name: String,
        line: InputLine<'_>,
        state: impl FnOnce() -> String,
    ) {
        // A line after an older pin shares that pin's start, so that both are read with the same
        // state.
        let resume = match self.oldest_live(line.number) {
            Some(older) => Arc::clone(older),
            None => Arc::new(ResumePoint {
                line: line.number,
                offset: line.offset,
                state: state(),
            }),
        };
        self.0.push((name, resume));
    }

    pub(crate) fn release(&mut self, name: &str) {
        self.0.retain(|(held, _)| held != name);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns where the next reader starts if `last` was the last line read.
    pub(crate) fn resume_point(&self, last: u64) -> Option<ResumePoint> {
        self.oldest_live(last)
            .map(|resume| ResumePoint::clone(resume))
    }

    fn oldest_live(&self, last: u64) -> Option<&Arc<ResumePoint>> {
        let mut resumes = self.0.iter().map(|(_, resume)| resume);
        resumes.find(|resume| resume.line + LINES_MAX > last)
    }
}
