//! A model, servers and a face that remembers what it was shown.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_chat::{
    Answer, Ask, Chat, ChatEvent, ChatSettings, Confirming, Delta, Endpoint, Error, Face, Mark,
    Message, Model, Part, Patience, Reply, Stop, TurnEnd,
};
use attache_host::client::Server;
use attache_host::config::{
    ChatApi, ChatConfig, ChatTools, Decision, PolicyRules, ServerConfig, ServerName, Source,
};
use attache_host::{Host, HostBuilder};
use attache_testkit::chaos::{Launch, Script};
pub(crate) use attache_testkit::guard::within;
use attache_testkit::model::{ModelReply, ModelScript, ModelServer, WireFormat};

pub(crate) const BOTH: [WireFormat; 2] = [WireFormat::Completions, WireFormat::Anthropic];

/// The endpoint of a scripted model.
pub(crate) fn endpoint(base: &str, format: WireFormat) -> Endpoint {
    let config = ChatConfig {
        endpoint: Some(base.to_owned()),
        model: Some("scripted".to_owned()),
        api_key: Some("sk-test-1234567890".into()),
        api: Some(match format {
            WireFormat::Completions => ChatApi::OpenAi,
            WireFormat::Anthropic => ChatApi::Anthropic,
        }),
        ..ChatConfig::default()
    };
    let mut endpoint = Endpoint::new(&config, None, |_| None, |_| None).unwrap();
    endpoint.proxy = attache_net_proxy();
    endpoint
}

fn attache_net_proxy() -> attache_host::client::Proxy {
    attache_host::client::Proxy::Direct
}

/// A model that answers with these.
pub(crate) async fn scripted(
    format: WireFormat,
    replies: impl IntoIterator<Item = ModelReply>,
) -> ModelServer {
    let script = replies
        .into_iter()
        .fold(ModelScript::new(format), ModelScript::then);
    script.start().await.unwrap()
}

/// What one request gave: the reply, the pieces as they came, and how it ended.
pub(crate) async fn ask(endpoint: Endpoint) -> (Reply, Vec<String>, Result<(), Error>) {
    let model = Model::new(endpoint);
    let messages = [Message::user("hello")];
    let mark = Mark::new();
    let mut reply = Reply::default();
    let mut pieces = Vec::new();
    let mut on_delta = |delta: Delta<'_>| match delta {
        Delta::Text(text) => pieces.push(text.to_owned()),
        Delta::Thinking(text) => pieces.push(format!("({text})")),
        Delta::Waiting { .. } => pieces.push("<waiting>".to_owned()),
    };
    let answering = model.answer(Ask::new(&messages, &mark), &mut reply, &mut on_delta);
    let outcome = within("the answer", answering).await;
    (reply, pieces, outcome)
}

/// The answer to events of Chat Completions, as they are.
pub(crate) async fn answer_to(
    format: WireFormat,
    events: impl IntoIterator<Item = impl ToString>,
) -> (Answer, Result<(), Error>) {
    let server = scripted(format, [ModelReply::events(events)]).await;
    let (reply, _, outcome) = ask(endpoint(&server.base(), format)).await;
    (reply.answer, outcome)
}

/// Short times, for silence that has to end.
pub(crate) fn impatient() -> Patience {
    Patience {
        connect: Duration::from_secs(5),
        first: Duration::from_millis(200),
        between: Duration::from_millis(200),
    }
}

/// Remembers what it was shown.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) text: String,
    pub(crate) calling: Vec<(String, String)>,
    pub(crate) called: Vec<(String, String)>,
    pub(crate) notes: Vec<String>,
    pub(crate) attached: Vec<String>,
    pub(crate) compacted: usize,
    pub(crate) used: Vec<(Option<u64>, u64)>,
    pub(crate) confirms: Vec<String>,
    /// What it says when it is asked.
    pub(crate) says_yes: bool,
    /// Raised as soon as something of this is shown.
    pub(crate) stop_on: Option<(&'static str, Stop)>,
}

impl Face for Recorder {
    fn show(&mut self, event: ChatEvent<'_>) {
        let kind = match event {
            ChatEvent::Text { text } => {
                self.text.push_str(text);
                "text"
            }
            ChatEvent::Calling {
                tool, arguments, ..
            } => {
                self.calling.push((tool.to_owned(), arguments.to_owned()));
                "calling"
            }
            ChatEvent::Called { tool, ending, .. } => {
                self.called.push((tool.to_owned(), ending.to_owned()));
                "called"
            }
            ChatEvent::Note { text } => {
                self.notes.push(text.to_owned());
                "note"
            }
            ChatEvent::Attached { from, .. } => {
                self.attached.push(from.to_owned());
                "attached"
            }
            ChatEvent::Compacted(_) => {
                self.compacted += 1;
                "compacted"
            }
            ChatEvent::Used { usage, context, .. } => {
                self.used.push((usage.output, context));
                "used"
            }
            ChatEvent::Thinking { .. } | ChatEvent::AnswerEnded => "other",
        };
        if let Some((wanted, stop)) = &self.stop_on
            && *wanted == kind
        {
            stop.raise();
        }
    }

    fn confirm<'a>(&'a mut self, question: &'a str) -> Confirming<'a> {
        self.confirms.push(question.to_owned());
        Box::pin(std::future::ready(self.says_yes))
    }
}

/// A conversation with a scripted model and chaos servers.
pub(crate) struct Talk {
    pub(crate) model: ModelServer,
    pub(crate) chat: Chat,
    pub(crate) face: Recorder,
    pub(crate) stop: Stop,
    pub(crate) launches: Vec<Launch>,
}

pub(crate) fn settings() -> ChatSettings {
    ChatSettings {
        system: None,
        max_rounds: 20,
        tools: ChatTools::Auto,
        context_tokens: Some(32_768),
        project: None,
        automatic: false,
    }
}

/// Everything may be called without asking.
pub(crate) fn allowed(config: &mut ServerConfig) {
    config.policy = PolicyRules {
        otherwise: Some(Decision::Allow),
        ..PolicyRules::default()
    };
}

impl Talk {
    pub(crate) async fn new(
        replies: impl IntoIterator<Item = ModelReply>,
        servers: impl IntoIterator<Item = (&'static str, Script)>,
    ) -> Self {
        Self::with(
            WireFormat::Completions,
            replies,
            servers,
            allowed,
            |it| it,
            settings(),
        )
        .await
    }

    pub(crate) async fn with(
        format: WireFormat,
        replies: impl IntoIterator<Item = ModelReply>,
        servers: impl IntoIterator<Item = (&'static str, Script)>,
        change: impl Fn(&mut ServerConfig),
        build: impl FnOnce(HostBuilder) -> HostBuilder,
        settings: ChatSettings,
    ) -> Self {
        let model = scripted(format, replies).await;
        let mut config = attache_host::config::Config::default();
        let mut launches = Vec::new();
        for (name, script) in servers {
            let launch = script.launch().unwrap();
            let mut server = Server::stdio(&launch.program, &launch.args);
            for (name, value) in &launch.env {
                server = server.env(name, value);
            }
            let name = ServerName::new(name).unwrap();
            let mut server = ServerConfig::new(name.clone(), server, Source::program());
            server.server.settings.timeouts.close_grace = Duration::from_millis(500);
            change(&mut server);
            config.servers.insert(name, server);
            launches.push(launch);
        }
        let host = build(Host::builder().config(config)).start();
        let client = Arc::new(Model::new(endpoint(&model.base(), format)));
        Self {
            chat: Chat::new(host, Some(client), settings),
            model,
            face: Recorder::default(),
            stop: Stop::new(),
            launches,
        }
    }

    pub(crate) async fn ask(&mut self, question: &str) -> Result<TurnEnd, Error> {
        let parts = vec![Part::text(question)];
        let turn = self.chat.turn(parts, &mut self.face, &self.stop);
        within("the turn", turn).await
    }

    /// What the model was told of the calls of the last round.
    pub(crate) fn told(&self) -> Vec<String> {
        let asked = self.model.asked();
        let messages = asked.last().unwrap()["messages"]
            .as_array()
            .unwrap()
            .clone();
        let results = messages.iter().rev().take_while(|it| it["role"] == "tool");
        let mut told: Vec<String> = results
            .map(|it| it["content"].as_str().unwrap().to_owned())
            .collect();
        told.reverse();
        told
    }

    pub(crate) async fn close(self) {
        within("closing", self.chat.host().close()).await;
    }
}

/// A chaos server with these tools.
pub(crate) fn server(tools: &[&str]) -> Script {
    let tools = tools.iter().map(|name| {
        serde_json::json!({"name": name, "description": format!("Does {name}"),
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}})
    });
    Script::legacy("2025-06-18").tools(tools)
}

/// A value that several tasks write.
pub(crate) type Shared<T> = Arc<Mutex<T>>;
