//! `attache ui`.

use std::io::IsTerminal as _;

use attache::host::call_log::call_log_folder;
use attache::host::configured_log_folder;
use attache::host::trust::TrustState;
use attache_attach::RemoteHost;
use attache_tui::theme::ColorMode;
use attache_tui::{ASKABLE, About, AttachedHost, Backend, Ended, Gate, Options, OwnHost, Wishes};

use super::{Context, Known, Typed, Verb};
use crate::args::ServerArgs;
use crate::ask::Asker;
use crate::configuration::{Configuration, problem_failure};
use crate::failure::Failure;
use crate::output::Format;
use crate::selection::ServerSelection;

/// Work with the servers on a full screen: forms, calls, questions, logs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
? shows every key; : goes anywhere; Esc goes back; q leaves.
Keys and looks are written down under [ui] in your own attache.toml.

Example:
  attache ui
  attache ui notes
  attache ui -- uvx mcp-server-time")]
pub(crate) struct Ui {
    /// The server's name or URL; all servers if there is none
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// Colours of the terminal (auto), or none (never)
    #[arg(
        long,
        value_name = "auto|never",
        value_parser = ["auto", "never"],
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: String,
    /// Draw with ASCII only
    #[arg(long)]
    ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    no_mouse: bool,
    /// F12 panics
    #[arg(long, hide = true)]
    panic_key: bool,
    #[command(flatten)]
    servers: ServerArgs,
}

impl Verb for Ui {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        if context.output.format == Format::Json {
            return Err(Failure::usage("the UI has no JSON")
                .hint("every verb of it is one at the shell: attache tools --json"));
        }
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(Failure::usage("the UI needs a terminal")
                .hint("attache ls, attache tools and attache call say the same in lines"));
        }
        let options = self.options()?;
        let ended = attache_tui::run(options, async |gate| self.connect(context, gate).await).await;
        match ended {
            Ended::Left => Ok(()),
            Ended::NoHost(failure) => Err(failure),
            Ended::Terminal(error) => Err(Failure::unexpected(format!(
                "the terminal cannot be used: {error}"
            ))),
            Ended::Panicked => Err(Failure::unexpected(
                "the UI has ended by a defect of its own; the cause is above",
            )),
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

impl Ui {
    fn options(&self) -> Result<Options, Failure> {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_plain = self.color == "never" || set("NO_COLOR") || is_dumb;
        Ok(Options {
            colors: match is_plain {
                true => ColorMode::Never,
                false => ColorMode::Palette,
            },
            ascii: self.ascii || is_dumb,
            mouse: !self.no_mouse,
            folder: std::env::current_dir().map_err(|error| {
                Failure::unexpected(format!("cannot tell the working folder: {error}"))
            })?,
            can_panic: self.panic_key,
        })
    }

    /// Everything that is read and started comes after the first frame.
    async fn connect(self, context: &Context, gate: Gate) -> Result<(Backend, About), Failure> {
        let wants_mouse = !self.no_mouse;
        let (configuration, is_configured) = self.servers.configuration()?;
        if is_configured {
            ask_for_trust(&configuration, &gate).await?;
        }
        let selection = self.servers.named(self.name)?.selection()?.1;
        let mut about = about(&configuration, &selection, wants_mouse)?;
        // One that runs in the background has the servers already.
        let running = match selection.shared() {
            Some(place) => RemoteHost::connect(place).await,
            None => None,
        };
        if let Some(running) = running {
            about.is_attached = true;
            let calls = about.logs.as_deref().map(call_log_folder);
            let backend = Backend::Attached(AttachedHost::new(running, calls));
            return Ok((backend, about));
        }
        let asker = Asker::elsewhere(ASKABLE);
        let session = context.open_with(selection.kept(), asker).await?;
        let backend = Backend::Own(OwnHost::new(session.host()?.clone()));
        Ok((backend, about))
    }
}

/// A file that came with a folder starts nothing before the person has seen what it says.
async fn ask_for_trust(configuration: &Configuration, gate: &Gate) -> Result<(), Failure> {
    let Some(loaded) = configuration.load()? else {
        return Ok(());
    };
    let Some(trust) = configuration.trust() else {
        return Ok(());
    };
    if loaded.trust == TrustState::Trusted {
        return Ok(());
    }
    let why = match loaded.trust {
        TrustState::Changed => "has changed since you approved it",
        TrustState::New | TrustState::Trusted => "came with this folder and is not approved",
    };
    let file = configuration.shown(&loaded.found.file);
    let mut lines = vec![
        format!("{file} {why}."),
        "What it names is started as you, with your rights. This is what it says:".to_owned(),
        String::new(),
    ];
    lines.extend(loaded.text.lines().map(|line| format!("  {line}")));
    if gate
        .ask(
            "not trusted yet",
            lines,
            "approves it and starts the servers",
        )
        .await
    {
        let approved = loaded.approve(&trust);
        approved
            .map_err(|error| Failure::unexpected(format!("{file} was not approved: {error}")))?;
    }
    // Without a yes the selection refuses it, in the words of every other verb.
    Ok(())
}

fn about(
    configuration: &Configuration,
    selection: &ServerSelection,
    wants_mouse: bool,
) -> Result<About, Failure> {
    let wishes = configuration.ui()?;
    let misconfigured = selection.misconfigured().iter().map(|(name, problem)| {
        let failure = problem_failure(problem);
        (name.clone(), failure.to_string())
    });
    Ok(About {
        is_attached: false,
        misconfigured: misconfigured.collect(),
        logs: configuration
            .state_folder()
            .map(|state| configured_log_folder(&configuration.log_rules(), &state)),
        notices: Vec::new(),
        wishes: Some(Wishes {
            keys: wishes.keys.into_iter().collect(),
            ascii: wishes.ascii,
            theme: wishes.theme,
            mouse: wants_mouse && wishes.mouse.unwrap_or(true),
        }),
        specs_directory: configuration.specs_directory(),
    })
}
