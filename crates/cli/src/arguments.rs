//! Arguments of tools as a user types them, made into the JSON a tool takes.
//!
//! Owns where the words come from (the command line, files, stdin) and what is said about those
//! that do not fit. What a word means is the form's own knowledge. Knows nothing of servers.

use std::io::Read;

use attache::host::nearest;
use attache::protocol::Json;
use attache_view::form::{Assignment, Form, Notation, Path, Problem, Step, assign};
use attache_view::{Object, Value};

use crate::failure::Failure;

/// The most that is read from a file or from stdin.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How many further mistakes are told with the first.
const MOST_FURTHER: usize = 9;

/// Whether arguments have to fit the schema before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validation {
    Required,
    /// They are sent as they are, to see what the server makes of them.
    Skipped,
}

/// What was assembled, and what is worth mentioning about it.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) arguments: Json,
    pub(crate) notes: Vec<String>,
    /// What the schema asks for and only the server can check.
    pub(crate) unchecked: Vec<String>,
}

/// Reads the words; the value of one may be in a file.
pub(crate) fn parse(words: &[String]) -> Result<Vec<Assignment>, Failure> {
    words.iter().map(|word| parse_one(word)).collect()
}

fn parse_one(word: &str) -> Result<Assignment, Failure> {
    let Some(mut given) = Assignment::parse(word) else {
        let problem = match word.contains('=') {
            true => format!("\"{word}\" has no name before its `=`"),
            false => format!("\"{word}\" is not an argument"),
        };
        return Err(Failure::usage(problem).hint("write arguments as key=value or key:=json"));
    };
    if let Some(file) = given.text.strip_prefix('@') {
        given.text = read(file)
            .map_err(|problem| Failure::usage(format!("argument \"{}\": {problem}", given.key)))?;
    }
    Ok(given)
}

/// The value where only text can be given.
pub(crate) fn only_text(given: &Assignment) -> Result<&str, Failure> {
    match given.notation {
        Notation::Text => Ok(&given.text),
        Notation::Json => {
            let problem = format!("argument \"{}\" can only be text", given.key);
            Err(Failure::usage(problem).hint(format!("write {}=…", given.key)))
        }
    }
}

/// Reads the object of `--args`: JSON, `@file`, or `-` for stdin.
pub(crate) fn read_whole(word: &str) -> Result<Value, Failure> {
    let failure = |problem| Failure::usage(format!("--args: {problem}"));
    let text = match word.strip_prefix('@') {
        Some(file) => read(file).map_err(failure)?,
        None if word == "-" => read(word).map_err(failure)?,
        None => word.to_owned(),
    };
    match Value::parse(&text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(failure("not a JSON object".to_owned())),
        Err(error) => Err(failure(format!("not JSON: {error}"))),
    }
}

/// Builds the arguments of a tool, typed and checked by its schema.
pub(crate) fn assemble(
    whole: Option<Value>,
    given: &[Assignment],
    form: &Form,
    tool: &str,
    validation: Validation,
) -> Result<Assembled, Failure> {
    let told = Told { form, tool };
    let typed = match validation {
        Validation::Required => given.to_vec(),
        Validation::Skipped => given.iter().map(|one| as_text(form, one)).collect(),
    };
    let value = assign(form, whole, &typed).map_err(|problem| told.failure(vec![problem], &[]))?;
    let undescribed: Vec<&str> = value
        .as_object()
        .into_iter()
        .flat_map(Object::iter)
        .map(|(name, _)| name)
        .filter(|name| !form.describes(name))
        .collect();
    let mut unchecked = Vec::new();
    if validation == Validation::Required {
        let report = form.check(&value);
        if !report.problems.is_empty() {
            return Err(told.failure(report.problems, &undescribed));
        }
        unchecked = report.unchecked.into_iter().collect();
    }
    let names = form.members_at(&[]);
    let notes = undescribed.iter().filter(|_| !names.is_empty());
    Ok(Assembled {
        arguments: value.to_json(),
        notes: notes.map(|name| told.undescribed(name)).collect(),
        unchecked,
    })
}

/// A word that says no value of its type, as the text it is.
fn as_text(form: &Form, given: &Assignment) -> Assignment {
    match assign(form, None, std::slice::from_ref(given)) {
        Err(_) if given.notation == Notation::Text => Assignment {
            text: Value::String(given.text.clone()).to_string(),
            notation: Notation::Json,
            key: given.key.clone(),
        },
        _ => given.clone(),
    }
}

/// Says what is wrong with the arguments of a tool.
struct Told<'a> {
    form: &'a Form,
    tool: &'a str,
}

impl Told<'_> {
    /// One failure for all problems; `undescribed` are the names that were given and that the
    /// schema does not have, each perhaps another one misspelt.
    fn failure(&self, mut problems: Vec<Problem>, undescribed: &[&str]) -> Failure {
        // A misspelt name explains what is missing, so it comes first.
        problems.sort_by_key(|problem| problem.rule != "additionalProperties");
        let Some(first) = problems.first() else {
            return Failure::unexpected("the arguments were refused without a reason");
        };
        let mut failure = Failure::usage(self.message(first)).hint(self.remedy(first, undescribed));
        let further = problems[1..].iter().take(MOST_FURTHER);
        failure.details = further.map(|problem| self.message(problem)).collect();
        if problems.len() > 1 + MOST_FURTHER {
            let more = problems.len() - 1 - MOST_FURTHER;
            failure
                .details
                .push(format!("{more} more; --json tells all"));
        }
        failure.data = Json::from_serialize(&serde_json::json!({ "problems": problems })).ok();
        failure
    }

    fn message(&self, problem: &Problem) -> String {
        let (path, tool) = (&problem.path, self.tool);
        match problem.rule.as_str() {
            "additionalProperties" => format!("{tool} has no argument \"{path}\""),
            "required" => {
                let kind = self
                    .form
                    .describe(&self.form.field_of_key(&path.to_string()));
                format!("{tool} needs the argument \"{path}\" ({kind})")
            }
            rule => {
                let whose = match path.0.is_empty() {
                    true => format!("the arguments of {tool}: "),
                    false => "argument ".to_owned(),
                };
                let rule = match rule {
                    "syntax" => String::new(),
                    rule => format!(" (rule \"{rule}\")"),
                };
                format!("{whose}{}{rule}", problem.message)
            }
        }
    }

    fn remedy(&self, problem: &Problem, undescribed: &[&str]) -> String {
        let takes = match self.form.signature() {
            none if none.is_empty() => "it takes no arguments".to_owned(),
            signature => format!("it takes: {signature}"),
        };
        let Some((Step::Key(name), parent)) = problem.path.0.split_last() else {
            return format!("{takes}; {AS_IS}");
        };
        match problem.rule.as_str() {
            "additionalProperties" => {
                let siblings = self.form.members_at(parent);
                let names = siblings.iter().map(|(name, _)| name.as_str());
                match nearest(name, names) {
                    Some(nearest) => {
                        let path = Path(parent.to_vec()).key(nearest);
                        format!("did you mean \"{path}\"?")
                    }
                    None => takes,
                }
            }
            "required" => match nearest(name, undescribed.iter().copied()) {
                Some(given) => format!("did you mean \"{name}\" by \"{given}\"?"),
                None => takes,
            },
            _ => {
                let path = &problem.path;
                let kind = self
                    .form
                    .describe(&self.form.field_of_key(&path.to_string()));
                format!("\"{path}\" takes {kind}; {AS_IS}")
            }
        }
    }

    fn undescribed(&self, name: &str) -> String {
        let names = self.form.members_at(&[]);
        let guess = match nearest(name, names.iter().map(|(name, _)| name.as_str())) {
            Some(nearest) => format!("; did you mean \"{nearest}\"?"),
            None => String::new(),
        };
        let tool = self.tool;
        format!("the schema of {tool} does not mention \"{name}\"; it is sent all the same{guess}")
    }
}

const AS_IS: &str = "--no-validate sends the arguments as they are";

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

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
