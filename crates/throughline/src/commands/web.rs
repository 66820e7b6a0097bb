//! `throughline web`

#![expect(clippy::disallowed_methods, reason = "the binary may start processes")]

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serve::client;

use crate::commands::App;
use crate::daemon::{self, ANSWER_TIMEOUT};
use crate::output::{self, Exit, error_with_hint};

/// Open the memory in a browser
///
/// Starts the daemon if it is not running. The address contains a ticket that is valid once and
/// for a minute. Over ssh, use --print, and forward the port: ssh -L PORT:127.0.0.1:PORT HOST
#[derive(Debug, clap::Args)]
pub(crate) struct WebArgs {
    /// Print the address instead of opening a browser
    #[arg(long)]
    print: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct WebTicket {
    ticket: String,
    port: u16,
}

pub(crate) fn run(app: &App<'_>, args: &WebArgs) -> anyhow::Result<Exit> {
    daemon::start(app, None)?;
    let answer = client::send_request(&app.home, "POST", "/ui/ticket", ANSWER_TIMEOUT)?;
    let ticket: WebTicket = serde_json::from_str(&answer.body).map_err(|_| {
        error_with_hint(
            format!("the daemon has no page (status {})", answer.status),
            "an older daemon may be running; stop it with `throughline serve --stop`",
        )
    })?;
    let url = format!("http://127.0.0.1:{}/ui/#t={}", ticket.port, ticket.ticket);
    if args.json {
        output::print_json(&serde_json::json!({ "url": url, "port": ticket.port }))?;
    } else if args.print {
        writeln!(io::stdout(), "{url}")?;
    } else {
        // Other users can read the arguments of a process, so the browser gets a file that only
        // its owner can read and that leads to the address.
        let file = write_redirect(&app.home, &url)?;
        if open_in_browser(&file).is_err() {
            say!("No browser was found. Open this address:");
            writeln!(io::stdout(), "{url}")?;
        }
    }
    Ok(Exit::Done)
}

fn write_redirect(home: &Path, url: &str) -> io::Result<PathBuf> {
    let path = home.join("web.html");
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    writeln!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><title>Throughline</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\">"
    )?;
    Ok(path)
}

/// Opens a file in the user's browser. Fails if no program for it can be started.
fn open_in_browser(file: &Path) -> io::Result<()> {
    let openers = ["xdg-open", "open", "wslview"];
    let open = |program: &str| {
        let quiet = || Stdio::null();
        let mut command = Command::new(program);
        command
            .arg(file)
            .stdin(quiet())
            .stdout(quiet())
            .stderr(quiet());
        command.status()
    };
    let opened = openers.iter().find_map(|program| match open(program) {
        Ok(status) if status.success() => Some(()),
        _ => None,
    });
    opened.ok_or_else(|| io::ErrorKind::NotFound.into())
}
