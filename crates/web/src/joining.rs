//! Joins and shrinks the files of the page when the program is built.
//!
//! The page is written in modules of one idea each and sent as one script and one style sheet.
//! Joining drops imports and the word `export`; it depends on names that are unique over all modules
//! (a test checks that). Shrinking takes out comments and spaces, and nothing else: what is inside of
//! strings, templates and regular expressions stays as it is written. Belongs to the build script and
//! to the tests.

/// The style sheets, in the order in which they count.
pub(crate) const STYLES: &[&str] = &["style.css", "layout.css", "parts.css"];

/// The modules: each after those that it imports.
#[rustfmt::skip]
pub(crate) const MODULES: &[&str] = &[
    "dom.js", "api.js", "store.js", "router.js", "filter.js", "virtual.js", "dialog.js",
    "outside.js", "json.js", "markdown.js", "document.js", "widgets.js", "fields.js", "form.js",
    "diff.js", "catalog.js", "pane.js", "calls.js", "tools.js", "resources.js", "prompts.js",
    "callsview.js", "lane.js", "activity.js", "log.js", "servers.js", "questions.js", "inbox.js",
    "palette.js", "main.js",
];

/// Words after which a slash begins a regular expression.
const BEFORE_EXPRESSION: &[&str] = &[
    "return", "typeof", "case", "in", "of", "delete", "void", "throw", "else", "do", "await",
];

/// One script of all modules.
pub(crate) fn script<'a>(modules: impl IntoIterator<Item = &'a str>) -> String {
    let mut script = String::new();
    for module in modules {
        for line in module.lines().filter(|line| !line.starts_with("import ")) {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
    }
    shrunk_script(&script)
}

/// A script without comments, and without the spaces and line breaks that mean nothing.
pub(crate) fn shrunk_script(text: &str) -> String {
    let mut tokens = Tokens::new(text);
    let mut script = String::with_capacity(text.len());
    let mut gap = Gap::None;
    let mut ends = Ends::default();
    while let Some((token, kind)) = tokens.next() {
        match kind {
            Kind::Space => gap = gap.max(Gap::Space),
            Kind::Break => gap = Gap::Break,
            _ => {
                if token == "}" && ends.is_superfluous {
                    script.pop();
                }
                ends.follow(token);
                let (before, after) = (script.chars().next_back(), token.chars().next());
                if let (Some(before), Some(after)) = (before, after) {
                    script.extend(gap.kept(before, after));
                }
                script.push_str(token);
                gap = Gap::None;
            }
        }
    }
    script
}

/// Which semicolons end a statement that the brace behind them ends as well. One that is an empty
/// statement itself, as behind the head of a loop, is none of them.
#[derive(Default)]
struct Ends<'a> {
    /// For each open parenthesis: whether the head of a statement is in it.
    heads: Vec<bool>,
    last: &'a str,
    wants_statement: bool,
    is_superfluous: bool,
}

impl<'a> Ends<'a> {
    fn follow(&mut self, token: &'a str) {
        self.is_superfluous = token == ";" && !self.wants_statement;
        self.wants_statement = match token {
            "(" => {
                let is_head = ["if", "for", "while", "with", "await"].contains(&self.last);
                self.heads.push(is_head);
                false
            }
            ")" => self.heads.pop().unwrap_or_default(),
            "else" | "do" => true,
            _ => false,
        };
        self.last = token;
    }
}

/// What stood between two tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Break,
}

impl Gap {
    /// What has to be kept of it. A line break may end a statement, unless what stands at either
    /// side of it cannot be an end or a beginning.
    fn kept(self, before: char, after: char) -> Option<char> {
        let is_end = !"{([,;:?=&|<>*".contains(before) && !"})].,;:?=&|<>*".contains(after);
        let would_join = (is_word(before) && is_word(after))
            || ("+-/".contains(before) && "+-/".contains(after));
        match self {
            Self::Break if is_end => Some('\n'),
            Self::Space | Self::Break if would_join => Some(' '),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Space,
    Break,
    /// A name, a keyword or a number.
    Word,
    /// A string, a regular expression, or a piece of a template.
    Text,
    /// Any other character.
    Mark,
}

/// The tokens of a script, as far as shrinking has to tell them apart.
struct Tokens<'a> {
    rest: &'a str,
    /// For each template that is open: the braces that are open in its expression.
    templates: Vec<usize>,
    /// Whether a slash would begin a regular expression, and not divide.
    takes_expression: bool,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            templates: Vec::new(),
            takes_expression: true,
        }
    }

    fn next(&mut self) -> Option<(&'a str, Kind)> {
        let first = self.rest.chars().next()?;
        let (length, kind) = self.measure(first);
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        match kind {
            Kind::Space | Kind::Break => {}
            Kind::Word => self.takes_expression = BEFORE_EXPRESSION.contains(&token),
            // A piece of a template that ends in `${` is followed by an expression.
            Kind::Text => self.takes_expression = token.ends_with("${"),
            Kind::Mark => self.takes_expression = !")]}".contains(token),
        }
        Some((token, kind))
    }

    fn measure(&mut self, first: char) -> (usize, Kind) {
        let rest = self.rest;
        if first.is_whitespace() {
            let end = rest.find(|c: char| !c.is_whitespace());
            let space = &rest[..end.unwrap_or(rest.len())];
            let kind = if space.contains('\n') {
                Kind::Break
            } else {
                Kind::Space
            };
            return (space.len(), kind);
        }
        if rest.starts_with("//") {
            return (rest.find('\n').unwrap_or(rest.len()), Kind::Space);
        }
        if rest.starts_with("/*") {
            return (
                rest.find("*/").map_or(rest.len(), |end| end + 2),
                Kind::Space,
            );
        }
        if is_word(first) {
            let end = rest.find(|c: char| !is_word(c));
            return (end.unwrap_or(rest.len()), Kind::Word);
        }
        let goes_on = first == '}' && self.templates.last() == Some(&0);
        match first {
            '"' | '\'' => (
                until(rest, |tail| tail.starts_with(first).then_some(1)),
                Kind::Text,
            ),
            '`' => (self.template(), Kind::Text),
            '}' if goes_on => {
                self.templates.pop();
                (self.template(), Kind::Text)
            }
            '/' if self.takes_expression => (expression(rest), Kind::Text),
            '{' | '}' => {
                if let Some(open) = self.templates.last_mut() {
                    *open = if first == '{' {
                        *open + 1
                    } else {
                        open.saturating_sub(1)
                    };
                }
                (1, Kind::Mark)
            }
            _ => (first.len_utf8(), Kind::Mark),
        }
    }

    /// How long a piece of a template is: up to its end, or to where an expression begins.
    fn template(&mut self) -> usize {
        let length = until(self.rest, |tail| {
            let ends = [("`", 1), ("${", 2)];
            let end = ends.iter().find(|(end, _)| tail.starts_with(end));
            end.map(|(_, length)| *length)
        });
        if self.rest[..length].ends_with("${") {
            self.templates.push(0);
        }
        length
    }
}

/// How long a piece of text is, from its first character on: `end` says how long the end is that
/// stands at a place. Characters behind a backslash are no end.
fn until(text: &str, end: impl Fn(&str) -> Option<usize>) -> usize {
    let mut places = text.char_indices().skip(1);
    while let Some((at, character)) = places.next() {
        if character == '\\' {
            places.next();
        } else if let Some(length) = end(&text[at..]) {
            return at + length;
        }
    }
    text.len()
}

/// How long a regular expression is. A slash in a class of characters does not end it.
fn expression(text: &str) -> usize {
    let mut in_class = false;
    let mut places = text.char_indices().skip(1);
    while let Some((at, character)) = places.next() {
        match character {
            '\\' => drop(places.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || "_$#".contains(character)
}

/// One style sheet of all, without comments and spaces that mean nothing.
pub(crate) fn style<'a>(sheets: impl IntoIterator<Item = &'a str>) -> String {
    let text: String = sheets.into_iter().collect();
    let mut style = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut is_apart = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => until(rest, |tail| tail.starts_with('"').then_some(1)),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if first.is_whitespace() || token.starts_with("/*") {
            is_apart = true;
            continue;
        }
        // A space before a colon, a sign or a bracket means something; behind a colon it does not.
        let before = style.chars().next_back();
        let matters = before.is_some_and(|it| !"{};,:>".contains(it)) && !"{};,>".contains(first);
        if is_apart && matters {
            style.push(' ');
        }
        if first == '}' && before == Some(';') {
            style.pop();
        }
        style.push_str(token);
        is_apart = false;
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, shrunk: &str) {
        assert_eq!(shrunk_script(written), shrunk);
        assert_eq!(shrunk_script(shrunk), shrunk, "a second time");
    }

    #[test]
    fn comments_and_spaces_go() {
        check(
            "// one\nlet a = 1; // two\n/* three */ let b;\n",
            "let a=1;let b;",
        );
        check("f(\n  a,\n  b,\n);\n", "f(a,b,);");
        check("a\n  .b()\n  .c();", "a.b().c();");
        check(
            "const f = async (x) => {\n  return x;\n};",
            "const f=async(x)=>{return x};",
        );
    }

    #[test]
    fn line_breaks_that_end_a_statement_stay() {
        check("a()\nb()", "a()\nb()");
        check(
            "class A {\n  b() {}\n  c() {}\n}\nd()",
            "class A{b(){}\nc(){}}\nd()",
        );
        check("return\n{ a }", "return\n{a}");
        check("a++\nb", "a++\nb");
        check("a\n++b", "a\n++b");
    }

    #[test]
    fn semicolons_that_are_statements_stay() {
        check("{ while (a(b)); }", "{while(a(b));}");
        check("{ for (;;) ; }", "{for(;;);}");
        check("{ if (a) b(); else ; }", "{if(a)b();else;}");
        check("{ a(b); }", "{a(b)}");
    }

    #[test]
    fn tokens_do_not_grow_together() {
        check("typeof a in  b", "typeof a in b");
        check("a + +b - -c", "a+ +b- -c");
        check("a / /b/.c", "a/ /b/.c");
    }

    #[test]
    fn texts_stay_as_they_are_written() {
        for text in [
            r#""a  // b\" /* c */  d""#,
            "'a  \\' // b'",
            "`a  ${b}  // c ${`d  ${{e:1}}  `}  \\` f`",
            r"/[/ ]  \/ /g",
        ] {
            check(&format!("x = {text} ; y"), &format!("x={text};y"));
        }
        check("`${ a  /  b }  /  c`", "`${a/b}  /  c`");
        check("(a) / b / c; d", "(a)/b/c;d");
        check("return /a  b/ . c", "return/a  b/.c");
    }

    /// A token that was read wrongly would run on to the end, or shrink again.
    #[test]
    fn every_module_keeps_its_tokens() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        for name in MODULES {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            let shrunk = shrunk_script(&text);
            let tokens = |text: &str| {
                let mut reader = Tokens::new(text);
                let mut tokens = Vec::new();
                while let Some((token, kind)) = reader.next() {
                    let is_gap = matches!(kind, Kind::Space | Kind::Break);
                    let lines = token.lines().count();
                    assert!(is_gap || lines == 1, "{name}: {token}");
                    if token == "}" && tokens.last().is_some_and(|last| last == ";") {
                        tokens.pop();
                    }
                    tokens.extend((!is_gap).then(|| token.to_owned()));
                }
                assert!(reader.templates.is_empty(), "{name}: a template is open");
                tokens
            };
            assert_eq!(tokens(&text), tokens(&shrunk), "{name}");
            assert_eq!(shrunk_script(&shrunk), shrunk, "{name}");
        }
    }

    #[test]
    fn style_sheets_keep_what_means_something() {
        let written = "/* x */\na > b, c :hover + d {\n  e: calc(1% - 2px) var(--f, \"  }\");\n  g: h !important;\n}\n@media (i: 1px) and (j: 2px) { k { l: m; } }\n";
        let shrunk = "a>b,c :hover + d{e:calc(1% - 2px) var(--f,\"  }\");g:h !important}@media (i:1px) and (j:2px){k{l:m}}";
        assert_eq!(style([written]), shrunk);
    }
}
