//! `throughline ui`

use crate::commands::App;
use crate::output::Exit;
use crate::ui::{self, UiSettings};

/// Search, read and resume sessions interactively
///
/// Searches while you type. `throughline` alone in a terminal does the same; F1 shows the keys.
#[derive(Debug, clap::Args)]
pub(crate) struct UiArgs {
    /// What to search for first
    #[arg(value_name = "WORDS")]
    query: Vec<String>,

    /// Use this many rows below the prompt instead of the whole screen
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u16).range(4..))]
    inline: Option<u16>,

    /// Ask and answer in lines, for screen readers
    #[arg(long, conflicts_with = "inline")]
    plain: bool,

    /// Let the mouse wheel scroll; most terminals then select text only with Shift
    #[arg(long)]
    mouse: bool,

    /// Print the command that resumes the chosen session instead of running it
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(app: &App<'_>, args: &UiArgs) -> anyhow::Result<Exit> {
    let settings = UiSettings {
        query: args.query.join(" "),
        inline: args.inline.or(app.config.ui.inline),
        plain: args.plain,
        mouse: args.mouse || app.config.ui.mouse,
        print: args.print,
    };
    ui::run(app, &settings)
}
