//! `throughline shell`

use std::io::{Write, stdout};

use clap::ValueEnum;

use crate::commands::App;
use crate::output::Exit;

/// Print a shell script that opens the UI with a key
///
/// Add to the file that your shell reads at its start: eval "$(throughline shell bash)", or for
/// fish: throughline shell fish | source. The chosen session's command is put on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct ShellArgs {
    shell: WidgetShell,

    /// The letter that opens the UI together with Ctrl
    #[arg(long, default_value_t = 'g', value_name = "LETTER", value_parser = parse_letter)]
    key: char,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WidgetShell {
    Bash,
    Zsh,
    Fish,
}

fn parse_letter(text: &str) -> Result<char, String> {
    // Ctrl with these is Tab, Enter, or what every shell needs.
    const TAKEN: &str = "cdijmsz";
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_lowercase() && !TAKEN.contains(letter) => {
            Ok(letter)
        }
        _ => Err(format!("use a lower-case letter other than {TAKEN}")),
    }
}

const BASH: &str = include_str!("shell/widget.bash");
const ZSH: &str = include_str!("shell/widget.zsh");
const FISH: &str = include_str!("shell/widget.fish");

pub(crate) fn run(_: &App<'_>, args: &ShellArgs) -> anyhow::Result<Exit> {
    let script = match args.shell {
        WidgetShell::Bash => BASH,
        WidgetShell::Zsh => ZSH,
        WidgetShell::Fish => FISH,
    };
    let script = script.replace("@KEY@", &args.key.to_string());
    write!(stdout().lock(), "{script}")?;
    Ok(Exit::Done)
}
