//! Writing a document again without losing what a person changed in it.
//!
//! Three texts meet: the one that was written here last, the one that lies there now, and the new
//! one. Each is cut into blocks: headings, items of lists, rows of tables, labelled lines,
//! paragraphs. A block that lies there as it was written is ours to replace or to drop. One that
//! was changed or added by a person stays, and one that was removed stays away. Nothing is mixed
//! within a block, so what is read was written by one hand.

use std::collections::{HashMap, VecDeque};

/// A document after both hands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The text.
    pub text: String,
    /// The first lines of the blocks that are a person's and differ from ours.
    pub kept: Vec<String>,
}

/// Brings a new text together with a person's edits of the former one.
pub fn merge(written: &str, now: &str, new: &str) -> Merged {
    let (written, now, new) = (blocks(written), blocks(now), blocks(new));
    let of_now = matched(&now, &written);
    let of_new = matched(&new, &written);
    let mut now_of_written = vec![None; written.len()];
    for (at, it) in of_now.iter().enumerate() {
        if let Some(it) = it {
            now_of_written[*it] = Some(at);
        }
    }
    let added: HashMap<&str, usize> = (0..now.len())
        .filter(|at| of_now[*at].is_none())
        .map(|at| (now[at].key.as_str(), at))
        .collect();

    let mut out: Vec<(Option<usize>, Block)> = Vec::with_capacity(new.len() + added.len());
    let mut is_used = vec![false; now.len()];
    for (block, of) in new.iter().zip(&of_new) {
        let there = match of {
            Some(of) => match now_of_written[*of] {
                Some(at) => Some(at),
                // A person removed it.
                None => continue,
            },
            None => added.get(block.key.as_str()).copied(),
        };
        match there {
            Some(at) => {
                is_used[at] = true;
                let is_theirs = of.is_none_or(|of| now[at].body != written[of].body);
                let block = if is_theirs { &now[at] } else { block };
                out.push((Some(at), block.clone()));
            }
            None => out.push((None, block.clone())),
        }
    }
    for at in 0..now.len() {
        let is_theirs = of_now[at].is_none_or(|of| now[at].body != written[of].body);
        if !is_used[at] && is_theirs {
            insert(&mut out, &now, at);
        }
    }

    let is_theirs =
        |at: usize| of_now[at].is_none_or(|of| now[at].untick() != written[of].untick());
    let theirs = out.iter().filter(|(at, _)| at.is_some_and(is_theirs));
    let kept = theirs.map(|(_, block)| block.first_line()).collect();
    let text = out
        .iter()
        .flat_map(|(_, block)| [block.body.as_str(), &block.gap]);
    Merged {
        text: text.collect(),
        kept,
    }
}

/// Puts a person's block behind the one it stands behind now.
fn insert(out: &mut Vec<(Option<usize>, Block)>, now: &[Block], at: usize) {
    let place = (0..at).rev().find_map(|before| {
        let place = out.iter().position(|(it, _)| *it == Some(before))?;
        Some((before, place))
    });
    let place = match place {
        Some((before, place)) => {
            if before + 1 == at {
                out[place].1.gap.clone_from(&now[before].gap);
            }
            place + 1
        }
        None => 0,
    };
    out.insert(place, (Some(at), now[at].clone()));
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    /// What it is, within the document: its heading, number or place.
    key: String,
    kind: Kind,
    /// Its lines.
    body: String,
    /// The blank lines behind it.
    gap: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Heading,
    Item,
    Code,
    Paragraph,
}

impl Block {
    fn first_line(&self) -> String {
        self.body
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// Its text, as if no task was ticked off.
    fn untick(&self) -> String {
        let body = self.body.trim_end();
        body.replacen("- [X]", "- [ ]", 1)
            .replacen("- [x]", "- [ ]", 1)
    }
}

/// For each block the one of the former text that it is, if it is one: first those that are equal,
/// then those of the same name.
fn matched(blocks: &[Block], former: &[Block]) -> Vec<Option<usize>> {
    let mut equal: HashMap<(&str, &str), VecDeque<usize>> = HashMap::new();
    for (at, block) in former.iter().enumerate() {
        let name = (section(&block.key), block.body.as_str());
        equal.entry(name).or_default().push_back(at);
    }
    let mut is_taken = vec![false; former.len()];
    let mut found: Vec<Option<usize>> = blocks
        .iter()
        .map(|block| {
            let name = (section(&block.key), block.body.as_str());
            let at = equal.get_mut(&name)?.pop_front()?;
            is_taken[at] = true;
            Some(at)
        })
        .collect();
    let by_key: HashMap<&str, usize> = (0..former.len())
        .map(|at| (former[at].key.as_str(), at))
        .collect();
    for (block, found) in blocks.iter().zip(&mut found) {
        if found.is_none()
            && let Some(&at) = by_key.get(block.key.as_str())
            && !std::mem::replace(&mut is_taken[at], true)
        {
            *found = Some(at);
        }
    }
    found
}

/// Separates the parts of a key; no line of a document has it.
const SEPARATOR: char = '\n';

/// The part of a key that names the heading.
fn section(key: &str) -> &str {
    key.split(SEPARATOR).next().unwrap_or_default()
}

/// Cuts a text into blocks.
fn blocks(text: &str) -> Vec<Block> {
    let mut cut = Cut::default();
    for line in text.split_inclusive('\n') {
        cut.take(line);
    }
    cut.blocks
}

#[derive(Default)]
struct Cut {
    blocks: Vec<Block>,
    section: String,
    /// How often each name came up, so that keys differ.
    seen: HashMap<String, usize>,
    in_code: bool,
}

impl Cut {
    fn take(&mut self, line: &str) {
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        if self.in_code {
            self.in_code = !is_fence;
            self.append(line);
        } else if is_fence {
            self.in_code = true;
            self.begin(Kind::Code, "code", line);
        } else if bare.is_empty() {
            match self.blocks.last_mut() {
                Some(block) => block.gap.push_str(line),
                None => self.begin(Kind::Paragraph, "", line),
            }
        } else if let Some(name) = heading(bare) {
            self.section.clone_from(&name);
            self.begin(Kind::Heading, "", line);
        } else if let Some(name) = name_of_item(bare)
            && !line.starts_with([' ', '\t'])
        {
            self.begin(Kind::Item, &name, line);
        } else if self.continues(line) {
            self.append(line);
        } else {
            self.begin(Kind::Paragraph, "text", line);
        }
    }

    fn continues(&self, line: &str) -> bool {
        self.blocks.last().is_some_and(|block| match block.kind {
            Kind::Item => line.starts_with([' ', '\t']),
            Kind::Paragraph => block.gap.is_empty(),
            Kind::Heading | Kind::Code => false,
        })
    }

    fn append(&mut self, line: &str) {
        if let Some(block) = self.blocks.last_mut() {
            // Blank lines within a block are part of it.
            let gap = std::mem::take(&mut block.gap);
            block.body.push_str(&gap);
            block.body.push_str(line);
        }
    }

    fn begin(&mut self, kind: Kind, name: &str, line: &str) {
        let key = format!("{}{SEPARATOR}{name}", self.section);
        let times = self.seen.entry(key.clone()).or_default();
        *times += 1;
        let key = format!("{key}{SEPARATOR}{times}");
        self.blocks.push(Block {
            key,
            kind,
            body: line.to_owned(),
            gap: String::new(),
        });
    }
}

/// What a heading is called: numbered ones by their number, because their titles change.
fn heading(line: &str) -> Option<String> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.starts_with(' ') {
        return None;
    }
    let title = rest.trim();
    if level == 1 {
        return Some("#".to_owned());
    }
    for numbered in ["User Story ", "Phase "] {
        if let Some(behind) = title.strip_prefix(numbered) {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                return Some(format!("{level}{numbered}{}", &behind[..digits]));
            }
        }
    }
    let title = title.split(" *(").next().unwrap_or(title);
    Some(format!("{level}{title}"))
}

/// What an item of a list, a row of a table or a labelled line is called.
fn name_of_item(line: &str) -> Option<String> {
    if let Some(row) = line.strip_prefix('|') {
        let cell = row.split('|').next().unwrap_or_default();
        return Some(format!("|{}", cell.trim()));
    }
    if let Some((label, _)) = line.strip_prefix("**").and_then(|it| it.split_once("**:")) {
        return Some(label.to_owned());
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && line[digits..].starts_with(". ") {
        return Some(line[..digits].to_owned());
    }
    let rest = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))?;
    let rest = match rest.get(..3) {
        Some("[ ]" | "[x]" | "[X]") => rest[3..].trim_start(),
        _ => rest,
    };
    if let Some((label, _)) = rest.strip_prefix("**").and_then(|it| it.split_once("**")) {
        return Some(label.trim_end_matches(':').to_owned());
    }
    let word = rest.split(' ').next().unwrap_or_default();
    let is_task = word
        .strip_prefix('T')
        .is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()));
    Some(if is_task {
        word.to_owned()
    } else {
        "item".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "\
# Feature: A

**Status**: Draft

## Requirements

- **FR-001**: one
- **FR-002**: two

## Notes

Some text
over two lines.
";

    #[track_caller]
    fn check(now: &str, new: &str, text: &str, kept: &[&str]) {
        let merged = merge(WRITTEN, now, new);
        assert_eq!(merged.text, text);
        assert_eq!(merged.kept, kept);
    }

    #[test]
    fn what_is_ours_is_replaced() {
        let new = WRITTEN
            .replace("two", "2")
            .replace("Feature: A", "Feature: B");
        check(WRITTEN, &new, &new, &[]);
        check(WRITTEN, WRITTEN, WRITTEN, &[]);
    }

    #[test]
    fn an_edited_line_is_kept_and_its_neighbours_are_not() {
        let now = WRITTEN.replace(": one", ": by hand");
        let new = WRITTEN.replace(": one", ": 1").replace(": two", ": 2");
        let text = WRITTEN
            .replace(": one", ": by hand")
            .replace(": two", ": 2");
        check(&now, &new, &text, &["- **FR-001**: by hand"]);
    }

    #[test]
    fn what_a_person_added_stays_where_it_was() {
        let now = WRITTEN.replace(
            "- **FR-002**: two\n",
            "- **FR-002**: two\n- also this\n\n## Mine\n\nText.\n",
        );
        let new = WRITTEN
            .replace("two", "2")
            .replace("## Notes", "## Remarks");
        let text = now.replace("two", "2").replace("## Notes", "## Remarks");
        check(&now, &new, &text, &["- also this", "## Mine", "Text."]);
    }

    #[test]
    fn what_a_person_removed_stays_away() {
        let now = WRITTEN.replace("- **FR-001**: one\n", "");
        let new = WRITTEN.replace("two", "2").replace("one", "1");
        let text = now.replace("two", "2");
        check(&now, &new, &text, &[]);
    }

    #[test]
    fn what_is_gone_from_the_new_text_goes_unless_it_was_edited() {
        let new = WRITTEN.replace("- **FR-002**: two\n", "");
        check(WRITTEN, &new, &new, &[]);
        let now = WRITTEN.replace(": two", ": by hand");
        check(&now, &new, &now, &["- **FR-002**: by hand"]);
    }

    #[test]
    fn ticks_survive_and_are_no_edits() {
        let written = "## Phase 1: A\n\n- [ ] T001 one\n- [ ] T002 two\n";
        let now = written.replace("- [ ] T001", "- [X] T001");
        let new = "## Phase 1: B\n\n- [ ] T001 one\n- [ ] T002 two\n- [ ] T003 three\n";
        let merged = merge(written, &now, new);
        assert_eq!(
            merged.text,
            "## Phase 1: B\n\n- [X] T001 one\n- [ ] T002 two\n- [ ] T003 three\n"
        );
        assert_eq!(merged.kept, [""; 0]);
    }

    proptest::proptest! {
        /// Without edits the new text is taken whole; without a new text nothing changes.
        #[test]
        fn only_edits_make_a_difference(
            written in "(?s)([#|*-] ?[a-c1-3*]{0,4}\n| {0,2}[a-c]{0,3}\n|```\n){0,12}",
            other in "(?s)([#|*-] ?[a-c1-3*]{0,4}\n| {0,2}[a-c]{0,3}\n|```\n){0,12}",
        ) {
            proptest::prop_assert_eq!(merge(&written, &written, &other).text, other.clone());
            let lines = |text: &str| {
                let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
                let mut lines: Vec<String> = lines.map(str::to_owned).collect();
                lines.sort();
                lines
            };
            let now = merge(&written, &other, &written).text;
            proptest::prop_assert_eq!(lines(&now), lines(&other));
        }

        /// Every line that a person added is still there.
        #[test]
        fn nothing_added_is_lost(
            written in "(?s)([#-] ?[a-c]{1,3}\n|[a-c]{1,3}\n|\n){0,10}",
            new in "(?s)([#-] ?[a-c]{1,3}\n|[a-c]{1,3}\n|\n){0,10}",
            at in 0_usize..10,
        ) {
            let mut lines: Vec<&str> = written.split_inclusive('\n').collect();
            lines.insert(at.min(lines.len()), "by hand\n");
            let merged = merge(&written, &lines.concat(), &new);
            proptest::prop_assert!(merged.text.contains("by hand\n"), "{}", merged.text);
        }
    }
}
