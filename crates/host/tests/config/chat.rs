//! The model of a conversation: whose file may choose it.

use std::path::Path;

use attache_host::config::{ChatApi, ChatConfig, ChatTools, Config, Origin, Severity};

use crate::{environment, read};

const CHAT: &str = r#"
    [chat]
    endpoint = "https://models.example/v1"
    model = "m"
    api_key = "${TOKEN}"
    api = "anthropic"
    headers = { X-Team = "red" }
    context_tokens = 128000
    max_rounds = 5
    temperature = 0.5
    tools = "search"
"#;

#[test]
fn a_chat_table_says_everything_or_has_defaults() {
    let config = read(CHAT);
    assert_eq!(config.problems, []);
    let expected = ChatConfig {
        endpoint: Some("https://models.example/v1".to_owned()),
        model: Some("m".to_owned()),
        api_key: Some("s3cret-token".into()),
        api: Some(ChatApi::Anthropic),
        headers: [("X-Team".to_owned(), "red".into())].into(),
        allow_plain_http: false,
        context_tokens: Some(128_000),
        max_rounds: 5,
        temperature: Some(0.5),
        tools: ChatTools::Search,
    };
    assert_eq!(config.chat, expected);
    assert_eq!(read("[chat]\n").chat, ChatConfig::default());
    assert_eq!(read("").chat, ChatConfig::default());
}

#[test]
fn a_file_that_came_with_a_folder_cannot_choose_the_model() {
    let file = Path::new("/home/me/project/attache.toml");
    let config = Config::read(CHAT, file, Origin::Project, &environment());
    assert_eq!(config.chat, ChatConfig::default());
    let [problem] = config.problems.as_slice() else {
        panic!("{:?}", config.problems);
    };
    assert_eq!(problem.severity, Severity::Warning);
    assert!(problem.message.contains("came with a folder"), "{problem}");
}

#[test]
fn a_server_belongs_to_projects() {
    let config = read("[servers.notes]\ncommand = 'notes'\nprojects = ['DAAS']\n");
    assert_eq!(config.servers["notes"].projects, ["DAAS"]);
}
