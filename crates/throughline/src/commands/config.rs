//! `throughline config`

use std::io::Write;

use serde_json::json;

use crate::commands::App;
use crate::config::{DEFAULT_TOML, PricesConfig};
use crate::environment::VARIABLES;
use crate::output::table::count;
use crate::output::{self, Exit};

/// Show where the data and the configuration are, and the settings in effect
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Print a configuration file with all defaults
    #[arg(long)]
    default: bool,

    /// Print the settings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &ConfigArgs) -> anyhow::Result<Exit> {
    let mut out = app.output();
    if args.default {
        write!(out, "{DEFAULT_TOML}")?;
        return Ok(Exit::Done);
    }
    let store = store::Store::database_path(&app.home);
    if args.json {
        drop(out);
        output::print_json(&json!({
            "home": app.home, "store": store, "config": app.config_path,
            "config_exists": app.config_path.exists(), "settings": app.config,
        }))?;
        return Ok(Exit::Done);
    }
    let exists = if app.config_path.exists() {
        ""
    } else {
        " (does not exist; the defaults apply)"
    };
    writeln!(out, "# home    {}", app.home.display())?;
    writeln!(out, "# store   {}", store.display())?;
    writeln!(out, "# config  {}{exists}\n#", app.config_path.display())?;
    for (name, effect) in VARIABLES {
        writeln!(out, "# ${name}: {effect}")?;
    }
    writeln!(out, "\n{}", effective_toml(app)?)?;
    Ok(Exit::Done)
}

/// Returns the settings in effect as TOML. The shipped prices are left out, because they are many.
fn effective_toml(app: &App<'_>) -> anyhow::Result<String> {
    let mut config = app.config.clone();
    let shipped = PricesConfig::default().models;
    config
        .prices
        .models
        .retain(|model, price| shipped.get(model) != Some(price));
    let text = toml::to_string_pretty(&config)?;
    let shipped = count(shipped.len(), "price");
    Ok(format!(
        "{text}# plus {shipped}, listed by `throughline config --default`"
    ))
}
