//! Progress bars on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::environment::Environment;

/// Returns a bar with a template, or a hidden one if standard error is not a terminal.
pub(crate) fn progress_bar(environment: &Environment, template: &str) -> ProgressBar {
    if !environment.stderr_is_terminal {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
