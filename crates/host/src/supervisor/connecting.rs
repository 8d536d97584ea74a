//! From a server's configuration to something one can connect to.
//!
//! Owns the translation and the verdict whether a failed start may be tried again. Knows nothing of
//! states and pauses.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_client::frames::FrameSource;
use attache_client::process::SpawnErrorKind;
use attache_client::{
    CloseReason, ConnectError, Error as ClientError, HttpError, Server, Transport,
};

use super::container::Container;
use super::machine::Remedy;
use crate::accounts::Accounts;
use crate::config::{Origin, ServerConfig};
use crate::error::Cause;
use crate::probes::{self, Probes};
use crate::questions::ServerQuestions;
use crate::state_file;

/// Makes a server to connect to, once for every start.
pub(crate) type ServerMaker = Arc<dyn Fn() -> Server + Send + Sync>;

/// A server as it is started, again and again.
pub(crate) struct Target {
    server: Source,
    pub(super) container: Option<Container>,
    /// A folder to make before each start, if it is not there.
    folder: Option<PathBuf>,
    memory: Option<ProbeMemory>,
}

/// What is remembered of a server's probe.
struct ProbeMemory {
    probes: Arc<Probes>,
    /// What the server is remembered by.
    key: String,
    /// What the file says.
    in_vain: AtomicBool,
}

enum Source {
    /// The same one each time.
    Same(Box<Server>),
    /// A new one each time.
    Made(ServerMaker),
    /// None, and why.
    None(ClientError),
}

impl Target {
    pub(crate) fn new(
        config: &ServerConfig,
        questions: &ServerQuestions,
        accounts: &Accounts,
    ) -> Self {
        let mut server = config.server();
        let container = contain(&mut server);
        let server = match accounts.of(config) {
            Err(error) => Source::None(error),
            Ok(oauth) => {
                if let Some(oauth) = oauth {
                    server = server.authorizer(Arc::new(oauth));
                }
                Source::Same(Box::new(questions.put_on(server)))
            }
        };
        Self {
            server,
            container,
            folder: None,
            memory: None,
        }
    }

    /// Has a program of the user's own file that names no folder start in one of its own (S21).
    ///
    /// The folder the user is in may be a stranger's, and interpreters and package runners load
    /// modules from where they start. The home folder is full of other programs' files, and a
    /// folder that several servers share would let one leave a module for another.
    pub(crate) fn in_neutral_folder(
        mut self,
        config: &ServerConfig,
        folders: Option<&Path>,
    ) -> Self {
        let launch = config.server.transport().launch();
        let is_homeless = launch.is_some_and(|launch| launch.cwd.is_none());
        if config.source.origin != Origin::User || !is_homeless {
            return self;
        }
        let folder = match folders {
            Some(folders) => folders.join(config.name.as_str()),
            // Nothing can be made without a place for it; here only the system can leave files.
            None => PathBuf::from(std::path::MAIN_SEPARATOR_STR),
        };
        if let Source::Same(server) = self.server {
            self.server = Source::Same(Box::new(server.current_dir(&folder)));
            self.folder = folders.is_some().then_some(folder);
        }
        self
    }

    /// Remembers, beyond this process, whether the server is probed in vain.
    pub(crate) fn remembering(
        mut self,
        config: &ServerConfig,
        probes: Option<&Arc<Probes>>,
    ) -> Self {
        if let (Source::Same(server), Some(probes)) = (&mut self.server, probes) {
            let key = probes::key(config);
            let in_vain = probes.are_in_vain(&key);
            if in_vain {
                **server = Server::clone(server).unprobed();
            }
            self.memory = Some(ProbeMemory {
                probes: probes.clone(),
                key,
                in_vain: AtomicBool::new(in_vain),
            });
        }
        self
    }

    /// Has the messages of its connections seen here.
    pub(crate) fn observed_by(mut self, frames: &FrameSource) -> Self {
        let frames = frames.clone();
        self.server = match self.server {
            Source::Same(server) => Source::Same(Box::new(server.observed_by(frames))),
            Source::Made(maker) => {
                Source::Made(Arc::new(move || maker().observed_by(frames.clone())))
            }
            Source::None(error) => Source::None(error),
        };
        self
    }

    /// Takes note of what connecting has shown. Writes only what has changed.
    pub(super) async fn note_probe(&self) {
        let (Source::Same(server), Some(memory)) = (&self.server, &self.memory) else {
            return;
        };
        let in_vain = server.is_probed_in_vain();
        if memory.in_vain.swap(in_vain, Ordering::Relaxed) == in_vain {
            return;
        }
        let (probes, key) = (memory.probes.clone(), memory.key.clone());
        let noted = tokio::task::spawn_blocking(move || probes.note(&key, in_vain));
        // What could not be written is found out again next time.
        let _ = noted.await;
    }

    /// A server that this process makes itself, treated as its configuration says.
    pub(crate) fn made_by(
        maker: ServerMaker,
        config: &ServerConfig,
        questions: &ServerQuestions,
    ) -> Self {
        let (config, questions) = (config.clone(), questions.clone());
        Self {
            server: Source::Made(Arc::new(move || {
                questions.put_on(maker().settings(config.settings()))
            })),
            container: None,
            folder: None,
            memory: None,
        }
    }

    /// How many processes were started so far, and how many the next start may take.
    pub(super) fn processes(&self) -> (u64, usize) {
        match &self.server {
            Source::Same(server) => {
                let most = server.max_processes_per_connect();
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                (server.processes_started(), most)
            }
            Source::Made(_) | Source::None(_) => (0, 0),
        }
    }

    /// The server to connect to, or why there is none.
    pub(super) fn server(&self) -> Result<Server, ClientError> {
        if let Some(folder) = &self.folder {
            // Without it the start fails, and says which folder is missing.
            let _ = state_file::private_folder(folder);
        }
        match &self.server {
            Source::Same(server) => Ok(Server::clone(server)),
            Source::Made(maker) => Ok(maker()),
            Source::None(error) => Err(error.clone()),
        }
    }
}

/// A server in a container is started so that its container can be stopped (fault 12).
fn contain(server: &mut Server) -> Option<Container> {
    let launch = server.transport().launch()?;
    let container = Container::recognise(&launch.program, &launch.args)?;
    let container = container.environment(launch.vars.clone());
    if let Transport::Stdio(launch) = server.transport_mut() {
        launch.args = container.args().to_vec();
    }
    Some(container)
}

/// Whether another start may succeed where this one failed. That would take so many processes.
pub(super) fn remedy(error: &ClientError, processes: usize) -> Remedy {
    let try_again = Remedy::TryAgain { processes };
    match error {
        ClientError::Spawn(error) => match error.kind() {
            SpawnErrorKind::NotFound
            | SpawnErrorKind::NotExecutable
            | SpawnErrorKind::InterpreterMissing
            | SpawnErrorKind::BadWorkingDirectory
            | SpawnErrorKind::TooLarge
            | SpawnErrorKind::Unrepresentable => Remedy::NeedsAPerson,
            _ => try_again,
        },
        ClientError::Connect(
            ConnectError::NoCommonRevision { .. }
            | ConnectError::StreamsUsedUp
            | ConnectError::Misplaced { .. }
            | ConnectError::Http(HttpError::Authorization(_) | HttpError::Redirected { .. }),
        )
        | ClientError::Unsupported { .. }
        | ClientError::Input(_) => Remedy::NeedsAPerson,
        _ => try_again,
    }
}

/// The last words of the server that an error carries.
pub(super) fn last_words(error: &ClientError) -> &[String] {
    match error {
        ClientError::Connect(ConnectError::TimedOut { stderr, .. })
        | ClientError::Connect(ConnectError::Lost(CloseReason::Exited { stderr, .. })) => stderr,
        _ => &[],
    }
}

/// The same with every line of the server in it cleaned, since errors quote them.
pub(super) fn without_secrets(mut cause: Cause, clean: impl Fn(&String) -> String) -> Cause {
    if let Cause::Start(ClientError::Connect(ConnectError::TimedOut { strays, .. })) = &mut cause {
        strays.iter_mut().for_each(|line| *line = clean(line));
    }
    let lines = match &mut cause {
        Cause::Start(ClientError::Connect(ConnectError::TimedOut { stderr, .. }))
        | Cause::Start(ClientError::Connect(ConnectError::Lost(CloseReason::Exited {
            stderr,
            ..
        })))
        | Cause::Lost(CloseReason::Exited { stderr, .. }) => stderr,
        _ => return cause,
    };
    for line in lines {
        *line = clean(line);
    }
    cause
}
