//! Where to read again from when a sweep ends between two lines that belong together.
//!
//! A call's edit is told with its result, and a queued prompt when it is delivered. Their text
//! may not be kept in the reader's state, so the next sweep starts over at the line that has it.

use std::sync::Arc;

use crate::{InputLine, ResumePoint};

/// How far back a sweep starts over; what waits longer has been given up.
const LINES_MAX: u64 = 500;

#[derive(Debug, Default)]
pub struct PinnedLines(Vec<(String, Arc<ResumePoint>)>);

impl PinnedLines {
    /// Holds a line until `name` is released. `state` is that of the reader before the line.
    pub fn pin(&mut self, name: String, line: InputLine<'_>, state: impl FnOnce() -> String) {
        // One that started under an older pin is read again from there, so that both meet the
        // same state again.
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

    pub fn release(&mut self, name: &str) {
        self.0.retain(|(held, _)| held != name);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns where the next reader starts, when the last line read was `last`.
    pub fn resume_point(&self, last: u64) -> Option<ResumePoint> {
        self.oldest_live(last)
            .map(|resume| ResumePoint::clone(resume))
    }

    fn oldest_live(&self, last: u64) -> Option<&Arc<ResumePoint>> {
        let mut resumes = self.0.iter().map(|(_, resume)| resume);
        resumes.find(|resume| resume.line + LINES_MAX > last)
    }
}
