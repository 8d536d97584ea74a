//! Arguments of tools as a user types them, made into the JSON a tool takes.
//!
//! `key=value` takes its type from the tool's schema, `key:=json` is JSON as it stands; either may
//! come from a file. Owns the way from words to one JSON object; knows nothing of servers.

mod convert;
mod schema;

use std::io::Read;

use attache::host::nearest;
use attache::protocol::{Extra, Json};

pub(crate) use schema::Schema;

use schema::Place;

use crate::failure::Failure;

/// The most that is read from a file or from stdin.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// One argument as it was given, read from its file if it was in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) key: String,
    text: String,
    notation: Notation,
}

/// How the value of an argument is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// `key=text`
    Text,
    /// `key:=json`
    Json,
}

/// What was assembled, and what is worth mentioning about it.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) arguments: Json,
    /// Names that the schema does not mention.
    pub(crate) unmentioned: Vec<String>,
}

impl Given {
    pub(crate) fn parse_all(words: &[String]) -> Result<Vec<Self>, Failure> {
        words.iter().map(|word| Self::parse(word)).collect()
    }

    fn parse(word: &str) -> Result<Self, Failure> {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Failure::usage(format!("\"{word}\" is not an argument"))
                .hint("write arguments as key=value or key:=json"));
        };
        let (key, notation) = match key.strip_suffix(':') {
            Some(key) => (key, Notation::Json),
            None => (key, Notation::Text),
        };
        if key.is_empty() {
            return Err(
                Failure::usage(format!("\"{word}\" has no name before its `=`"))
                    .hint("write arguments as key=value or key:=json"),
            );
        }
        let text = match value.strip_prefix('@') {
            Some(file) => read(file)
                .map_err(|problem| Failure::usage(format!("argument \"{key}\": {problem}")))?,
            None => value.to_owned(),
        };
        Ok(Self {
            key: key.to_owned(),
            text,
            notation,
        })
    }

    /// The value where only text can be given.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        match self.notation {
            Notation::Text => Ok(&self.text),
            Notation::Json => {
                let problem = format!("argument \"{}\" can only be text", self.key);
                Err(Failure::usage(problem).hint(format!("write {}=…", self.key)))
            }
        }
    }

    fn value(&self, place: &Place<'_>) -> Result<Json, Failure> {
        match self.notation {
            Notation::Json => Json::parse(&self.text).map_err(|error| {
                Failure::usage(format!("argument \"{}\": not JSON: {error}", self.key))
                    .hint(format!("for text write {}=…", self.key))
            }),
            Notation::Text => convert::text(&self.text, place).map_err(|expected| {
                Failure::usage(format!(
                    "argument \"{}\": expected {expected}, got {}",
                    self.key,
                    quoted(&self.text)
                ))
                .hint(format!(
                    "write {}:=… to give any JSON value as it stands",
                    self.key
                ))
            }),
        }
    }
}

/// Reads the object of `--args`: JSON, `@file`, or `-` for stdin.
pub(crate) fn read_whole(word: &str) -> Result<Extra, Failure> {
    let failure = |problem| Failure::usage(format!("--args: {problem}"));
    let text = match word.strip_prefix('@') {
        Some(file) => read(file).map_err(failure)?,
        None if word == "-" => read(word).map_err(failure)?,
        None => word.to_owned(),
    };
    let json = Json::parse(&text).map_err(|error| failure(format!("not JSON: {error}")))?;
    json.decode()
        .map_err(|_| failure("not a JSON object".to_owned()))
}

/// Builds the arguments of a tool. Types come from the schema; what is missing or unknown is found
/// before anything is sent, and the server remains the judge of the rest.
pub(crate) fn assemble(
    mut object: Extra,
    given: &[Given],
    schema: &Schema,
    tool: &str,
) -> Result<Assembled, Failure> {
    let mut unmentioned = Vec::new();
    let names: Vec<String> = object.iter().map(|(name, _)| name.to_owned()).collect();
    for name in &names {
        check_known(name, &schema.top(), schema, tool, &mut unmentioned)?;
    }
    for key in distinct_keys(given) {
        let path = schema.path(key);
        check_known(
            &path.names[0],
            &schema.top(),
            schema,
            tool,
            &mut unmentioned,
        )?;
        let same: Vec<&Given> = given.iter().filter(|given| given.key == key).collect();
        let value = match same.as_slice() {
            [one] => one.value(&path.place)?,
            many => list(key, many, &path.place)?,
        };
        insert(&mut object, &path.names, value);
    }
    if let Some(missing) = schema
        .top()
        .required()
        .into_iter()
        .find(|name| object.get(name).is_none())
    {
        let kind = schema.top().property(missing).describe();
        return Err(
            Failure::usage(format!("{tool} needs the argument \"{missing}\" ({kind})"))
                .hint(format!("it takes: {}", schema.signature())),
        );
    }
    let arguments = Json::from_serialize(&object)
        .map_err(|error| Failure::unexpected(format!("cannot write the arguments: {error}")))?;
    Ok(Assembled {
        arguments,
        unmentioned,
    })
}

fn check_known(
    name: &str,
    top: &Place<'_>,
    schema: &Schema,
    tool: &str,
    unmentioned: &mut Vec<String>,
) -> Result<(), Failure> {
    if top.mentions(name) {
        return Ok(());
    }
    if !top.is_closed() {
        if !unmentioned.iter().any(|other| other == name) && !schema.names().is_empty() {
            unmentioned.push(name.to_owned());
        }
        return Ok(());
    }
    let known = schema.names();
    let failure = Failure::usage(format!("{tool} has no argument \"{name}\""));
    Err(match nearest(name, known.iter().map(String::as_str)) {
        Some(nearest) => failure.hint(format!("did you mean \"{nearest}\"?")),
        None if known.is_empty() => failure.hint("it takes no arguments"),
        None => failure.hint(format!("it takes: {}", schema.signature())),
    })
}

/// Several values for one key are a list, where the schema allows one.
fn list(key: &str, given: &[&Given], place: &Place<'_>) -> Result<Json, Failure> {
    let Some(items) = place.items() else {
        return Err(
            Failure::usage(format!("argument \"{key}\" is given more than once"))
                .hint(format!("it takes one value: {}", place.describe())),
        );
    };
    let values = given
        .iter()
        .map(|given| given.value(&items))
        .collect::<Result<Vec<Json>, Failure>>()?;
    Json::from_serialize(&values)
        .map_err(|error| Failure::unexpected(format!("cannot write the arguments: {error}")))
}

fn distinct_keys(given: &[Given]) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for given in given {
        if !keys.contains(&given.key.as_str()) {
            keys.push(&given.key);
        }
    }
    keys
}

/// Puts a value where its path says, making the objects on the way.
fn insert(object: &mut Extra, path: &[String], value: Json) {
    match path {
        [] => {}
        [name] => object.insert(name.as_str(), value),
        [name, rest @ ..] => {
            let mut inner: Extra = object
                .get(name)
                .and_then(|inner| inner.decode().ok())
                .unwrap_or_default();
            insert(&mut inner, rest, value);
            object.insert(
                name.as_str(),
                Json::from_serialize(&inner).unwrap_or_default(),
            );
        }
    }
}

/// Reads a file, or stdin for `-`, as text of bounded size.
fn read(file: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let reading = if file == "-" {
        std::io::stdin()
            .lock()
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file)
            .and_then(|opened| opened.take(MOST_BYTES + 1).read_to_end(&mut bytes))
    };
    let name = if file == "-" { "stdin" } else { file };
    reading.map_err(|error| format!("cannot read {name}: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("{name} has more than {MOST_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8 text"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", attache::protocol::shortened(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{
        "type":"object",
        "properties":{
            "name":{"type":"string"},
            "count":{"type":"integer"},
            "ratio":{"type":"number"},
            "deep":{"type":"boolean"},
            "tags":{"type":"array","items":{"type":"string"}},
            "sizes":{"type":"array","items":{"type":"integer"}},
            "maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
            "either":{"type":["string","integer"]},
            "level":{"enum":["low","high"]},
            "rank":{"enum":[1,2]},
            "place":{"$ref":"#/$defs/place"},
            "a.b":{"type":"integer"},
            "thing":{}
        },
        "required":["name"],
        "$defs":{"place":{"type":"object","properties":{"x":{"type":"integer"}}}}
    }"##;

    fn assembled(schema: &str, whole: &str, words: &[&str]) -> Result<Assembled, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let schema = Schema::parse(schema);
        assemble(read_whole(whole)?, &Given::parse_all(&words)?, &schema, "t")
    }

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let whole = r#"{"name":"n"}"#;
        let actual = assembled(SCHEMA, whole, words).unwrap().arguments;
        let expected = format!(r#"{{"name":"n",{expected}}}"#);
        assert_eq!(actual.as_str(), expected, "{words:?}");
    }

    #[test]
    fn values_take_their_type_from_the_schema() {
        check(&["count=3"], r#""count":3"#);
        check(&["count=-3.0"], r#""count":-3.0"#);
        check(&["ratio=1e3"], r#""ratio":1e3"#);
        check(&["deep=true"], r#""deep":true"#);
        check(&["maybe=5"], r#""maybe":5"#);
        check(&["maybe=null"], r#""maybe":null"#);
        check(&["either=5"], r#""either":"5""#);
        check(&["either:=5"], r#""either":5"#);
        check(&["level=high"], r#""level":"high""#);
        check(&["rank=2"], r#""rank":2"#);
        check(&["thing=5"], r#""thing":"5""#);
        check(&["unknown=x=y"], r#""unknown":"x=y""#);
        check(&[r#"place={"x":1}"#], r#""place":{"x":1}"#);
        check(&["place.x=1", "place.y=1"], r#""place":{"x":1,"y":"1"}"#);
        check(&["a.b=1"], r#""a.b":1"#);
    }

    #[test]
    fn a_repeated_key_is_a_list() {
        check(&["tags=a"], r#""tags":["a"]"#);
        check(&["tags=a", "tags=b"], r#""tags":["a","b"]"#);
        check(&["sizes=1", "sizes:=2"], r#""sizes":[1,2]"#);
        check(&["sizes=[1,2]"], r#""sizes":[1,2]"#);
        check(&["tags=[x] todo"], r#""tags":["[x] todo"]"#);
    }

    #[test]
    fn big_numbers_survive() {
        let big = "123456789012345678901234567890";
        check(&[&format!("count={big}")], &format!(r#""count":{big}"#));
        check(&[&format!("thing:={big}")], &format!(r#""thing":{big}"#));
    }

    #[test]
    fn the_whole_object_and_single_arguments_combine() {
        let both = assembled(SCHEMA, r#"{"name":"n","place":{"z":0}}"#, &["place.x=1"]).unwrap();
        assert_eq!(
            both.arguments.as_str(),
            r#"{"name":"n","place":{"z":0,"x":1}}"#
        );
    }

    #[track_caller]
    fn check_failure(schema: &str, whole: &str, words: &[&str], message: &str, hint: &str) {
        let failure = assembled(schema, whole, words).unwrap_err();
        assert_eq!(failure.message, message);
        assert_eq!(failure.hint.as_deref().unwrap_or_default(), hint);
        assert_eq!(failure.exit as u8, 2);
    }

    #[test]
    fn mistakes_name_the_argument_and_what_was_expected() {
        let named = r#"{"name":"n"}"#;
        let any = |key| format!("write {key}:=… to give any JSON value as it stands");
        for (words, message, hint) in [
            (
                &["count=x"][..],
                "argument \"count\": expected a whole number, got \"x\"",
                any("count"),
            ),
            (
                &["count=1.5"],
                "argument \"count\": expected a whole number, got \"1.5\"",
                any("count"),
            ),
            (
                &["deep=yes"],
                "argument \"deep\": expected true or false, got \"yes\"",
                any("deep"),
            ),
            (
                &["maybe=x"],
                "argument \"maybe\": expected a whole number or null, got \"x\"",
                any("maybe"),
            ),
            (
                &["level=medium"],
                "argument \"level\": expected one of low, high, got \"medium\"",
                any("level"),
            ),
            (
                &["place=1"],
                "argument \"place\": expected a JSON object, got \"1\"",
                any("place"),
            ),
            (
                &["sizes=x"],
                "argument \"sizes\": expected a list of whole numbers, got \"x\"",
                any("sizes"),
            ),
            (
                &["count:=x"],
                "argument \"count\": not JSON: expected value at line 1 column 1",
                "for text write count=…".to_owned(),
            ),
            (
                &["count=1", "count=2"],
                "argument \"count\" is given more than once",
                "it takes one value: integer".to_owned(),
            ),
        ] {
            check_failure(SCHEMA, named, words, message, &hint);
        }
    }

    #[test]
    fn missing_and_unknown_arguments_are_found_before_sending() {
        let closed = r#"{"properties":{"message":{"type":"string"},"n":{"type":"integer"}},
            "required":["message"],"additionalProperties":false}"#;
        let takes = "it takes: message=<string> [n=<integer>]";
        check_failure(
            closed,
            "{}",
            &[],
            "t needs the argument \"message\" (string)",
            takes,
        );
        check_failure(
            closed,
            "{}",
            &["mesage=x"],
            "t has no argument \"mesage\"",
            "did you mean \"message\"?",
        );
        check_failure(
            closed,
            r#"{"zzz":1}"#,
            &[],
            "t has no argument \"zzz\"",
            takes,
        );
        let nothing = r#"{"type":"object","additionalProperties":false}"#;
        check_failure(
            nothing,
            "{}",
            &["x=1"],
            "t has no argument \"x\"",
            "it takes no arguments",
        );
        let open = assembled(SCHEMA, r#"{"name":"n"}"#, &["other=1"]).unwrap();
        assert_eq!(open.unmentioned, ["other"]);
    }

    #[test]
    fn words_that_are_no_arguments_are_refused() {
        for (word, message) in [
            ("x", "\"x\" is not an argument"),
            ("=x", "\"=x\" has no name before its `=`"),
            (":=x", "\":=x\" has no name before its `=`"),
        ] {
            assert_eq!(Given::parse(word).unwrap_err().message, message);
        }
        for (whole, message) in [
            ("[1]", "--args: not a JSON object"),
            (
                "{",
                "--args: not JSON: EOF while parsing an object at line 1 column 1",
            ),
            (
                "@/nowhere/at/all",
                "--args: cannot read /nowhere/at/all: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(read_whole(whole).unwrap_err().message, message);
        }
    }

    #[test]
    fn files_are_read_up_to_the_limit() {
        let folder = attache_testkit::scratch::Scratch::new("arguments").unwrap();
        let file = folder.path().join("value");
        let word = format!("name=@{}", file.display());
        let read = || Given::parse(&word).map(|given| given.text);
        std::fs::write(&file, "hi\n").unwrap();
        assert_eq!(read().unwrap(), "hi\n");
        std::fs::write(&file, b"\xff").unwrap();
        assert!(read().unwrap_err().message.ends_with("is not UTF-8 text"));
        std::fs::write(&file, vec![b'x'; MOST_BYTES as usize]).unwrap();
        assert_eq!(read().unwrap().len() as u64, MOST_BYTES);
        std::fs::write(&file, vec![b'x'; MOST_BYTES as usize + 1]).unwrap();
        assert!(
            read()
                .unwrap_err()
                .message
                .ends_with("more than 16777216 bytes")
        );
    }
}
