//! What a specification says: stories, requirements, success criteria, open questions.
//!
//! Reads what spec-kit's documents have in common, also where a person or a model bent the form.

/// How a question is marked.
const MARKER: &str = "[NEEDS CLARIFICATION";
/// The most questions that a specification may mark.
pub const MAX_MARKERS: usize = 3;

/// A specification, as far as later steps need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specification {
    /// The name of the feature.
    pub title: String,
    /// The stories in their order.
    pub stories: Vec<Story>,
    /// The functional requirements.
    pub requirements: Vec<Requirement>,
    /// The success criteria.
    pub criteria: Vec<Criterion>,
    /// The names of what the feature is about.
    pub entities: Vec<String>,
}

/// A story of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub title: String,
    /// How much it matters; 1 is most.
    pub priority: u32,
    /// What is said about it.
    pub text: String,
}

/// A functional requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Like `FR-001`.
    pub id: String,
    /// What it says.
    pub text: String,
    /// The story it belongs to: the one it names, the one it stands under, or else the one it
    /// shares most words with.
    pub story: Option<u32>,
}

/// A success criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// Like `SC-001`.
    pub id: String,
    /// What it says.
    pub text: String,
}

/// The questions that a text marks, in their order.
pub fn markers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(MARKER) {
        rest = &rest[at + MARKER.len()..];
        let Some(end) = rest.find(']') else { break };
        let question = rest[..end].trim_start_matches(':').trim();
        if !question.is_empty() {
            found.push(question.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        rest = &rest[end..];
    }
    found
}

/// Where in the document a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Elsewhere,
    Story,
    Entities,
}

impl Specification {
    /// Reads a specification. What is not understood is left out; nothing is an error.
    pub fn parse(text: &str) -> Self {
        let mut spec = Self::default();
        let mut at = At::Elsewhere;
        for line in visible_lines(text) {
            let trimmed = line.trim();
            if let Some(title) = trimmed.strip_prefix("# ") {
                if spec.title.is_empty() {
                    let name = title.trim_start_matches("Feature Specification:");
                    spec.title = name.trim().to_owned();
                }
            } else if let Some(heading) = heading(trimmed) {
                at = match story(heading) {
                    Some(story) => {
                        spec.stories.push(story);
                        At::Story
                    }
                    None if heading.starts_with("Key Entities") => At::Entities,
                    None => At::Elsewhere,
                };
            } else if let Some((id, rest)) = item(trimmed) {
                let under = (at == At::Story).then(|| spec.stories.last().map(|it| it.number));
                spec.add_item(id, rest, under.flatten(), at);
            } else if at == At::Story
                && let Some(story) = spec.stories.last_mut()
            {
                story.text.push_str(line);
                story.text.push('\n');
            }
        }
        spec.assign_stories();
        spec
    }

    fn add_item(&mut self, id: &str, text: &str, under: Option<u32>, at: At) {
        let text = text.trim().to_owned();
        if numbered(id, "FR-") {
            if self.requirements.iter().all(|it| it.id != id) {
                let story = named_story(&text).or(under);
                self.requirements.push(Requirement {
                    id: id.to_owned(),
                    text,
                    story,
                });
            }
        } else if numbered(id, "SC-") {
            if self.criteria.iter().all(|it| it.id != id) {
                self.criteria.push(Criterion {
                    id: id.to_owned(),
                    text,
                });
            }
        } else if at == At::Entities {
            self.entities.push(id.to_owned());
        }
    }

    /// Finds the story of each requirement that names none.
    fn assign_stories(&mut self) {
        let stories: Vec<(u32, Vec<String>)> = self
            .stories
            .iter()
            .map(|it| {
                (
                    it.number,
                    telling_words(&format!("{} {}", it.title, it.text)),
                )
            })
            .collect();
        for requirement in &mut self.requirements {
            if let Some(named) = requirement.story {
                if !stories.iter().any(|(number, _)| *number == named) {
                    requirement.story = None;
                }
                continue;
            }
            let words = telling_words(&requirement.text);
            let shared = |of: &[String]| words.iter().filter(|it| of.contains(it)).count();
            let best = stories
                .iter()
                .map(|(number, of)| (shared(of), std::cmp::Reverse(*number)))
                .max();
            requirement.story = best
                .filter(|(shared, _)| *shared >= 2)
                .map(|(_, number)| number.0);
        }
    }

    /// The requirements of a story; of all of them, if there is none.
    pub fn of_story(&self, story: Option<u32>) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(move |it| it.story == story)
    }
}

/// The lines that a reader sees: without comments and without what is quoted as code.
fn visible_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let mut in_comment = false;
    text.lines().filter(move |line| {
        let trimmed = line.trim_start();
        if in_comment {
            in_comment = !trimmed.contains("-->");
            return false;
        }
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_code = !in_code;
            return false;
        }
        if !in_code && trimmed.starts_with("<!--") {
            in_comment = !trimmed.contains("-->");
            return false;
        }
        !in_code
    })
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let is_heading = rest.len() < line.len() && rest.starts_with(' ');
    is_heading.then(|| rest.trim())
}

/// `User Story 2 - Title (Priority: P1)`.
fn story(heading: &str) -> Option<Story> {
    let rest = heading.strip_prefix("User Story ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim_start_matches([' ', '-', ':', '\u{2013}', '\u{2014}']);
    let (title, priority) = match rest.find("(Priority:") {
        Some(at) => {
            let digits = rest[at..].bytes().skip_while(|it| !it.is_ascii_digit());
            let digits = digits.take_while(u8::is_ascii_digit).map(char::from);
            (&rest[..at], digits.collect::<String>().parse().ok())
        }
        None => (rest, None),
    };
    Some(Story {
        number,
        title: title.trim().to_owned(),
        priority: priority.unwrap_or(number),
        text: String::new(),
    })
}

/// `- **FR-001**: text`, also with the colon inside the bold part.
fn item(line: &str) -> Option<(&str, &str)> {
    let rest = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))?;
    let (id, rest) = rest.trim_start().strip_prefix("**")?.split_once("**")?;
    Some((
        id.trim_end_matches(':').trim(),
        rest.trim_start_matches(':'),
    ))
}

fn numbered(id: &str, prefix: &str) -> bool {
    let digits = id.strip_prefix(prefix);
    digits.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
}

/// The story that a requirement names, as `US2`.
fn named_story(text: &str) -> Option<u32> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric());
    words
        .filter_map(|word| word.strip_prefix("US"))
        .find_map(|digits| digits.parse().ok())
}

fn telling_words(text: &str) -> Vec<String> {
    const WEAK: [&str; 17] = [
        "must", "system", "able", "user", "users", "given", "when", "then", "the", "and", "for",
        "with", "that", "this", "are", "can", "decide",
    ];
    let words = text.split(|it: char| !it.is_alphanumeric());
    let words = words
        .map(str::to_lowercase)
        .filter(|it| it.chars().count() > 2);
    let mut words: Vec<String> = words.filter(|it| !WEAK.contains(&it.as_str())).collect();
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "\
# Feature Specification: Search

<!-- - **FR-900**: only a remark
### User Story 9 - nothing -->
### User Story 1 - Search by tag (Priority: P1)

A reader searches notes by tag.

### User Story 2 \u{2013} Export

They export results.

```
- **FR-901**: an example
```
## Requirements
- **FR-001**: System MUST find notes with a tag [NEEDS CLARIFICATION: how many
  at most?]
- **FR-002:** The export MUST be a file (US2)
- **FR-003**: System MUST log
- **FR-002**: said twice
### Key Entities
- **Tag**: a word
## Success
- **SC-001**: 95 % find it in 2 s
";

    #[test]
    fn a_specification_is_read() {
        let spec = Specification::parse(SPEC);
        assert_eq!(spec.title, "Search");
        let stories: Vec<_> = spec
            .stories
            .iter()
            .map(|it| (it.number, it.title.as_str(), it.priority))
            .collect();
        assert_eq!(stories, [(1, "Search by tag", 1), (2, "Export", 2)]);
        let requirements: Vec<_> = spec
            .requirements
            .iter()
            .map(|it| (it.id.as_str(), it.story))
            .collect();
        assert_eq!(
            requirements,
            [("FR-001", Some(1)), ("FR-002", Some(2)), ("FR-003", None)]
        );
        assert_eq!(spec.criteria[0].id, "SC-001");
        assert_eq!(spec.entities, ["Tag"]);
        assert_eq!(markers(SPEC), ["how many at most?"]);
        assert_eq!(markers("[NEEDS CLARIFICATION: never closed"), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,400}") {
            let _ = Specification::parse(&text);
            let _ = markers(&text);
        }
    }
}
