//! What a form takes, in words that fit into one line: `count=<integer> [level=<low|high>]`.

use attache_schema::{Step, Types};

use super::Form;
use super::expand::Expansion;
use super::field::{Field, Kind, Members, Place};
use super::shell;
use super::state::Picks;

/// How many choices are spelled out.
const MOST_CHOICES: usize = 6;

impl Form {
    /// What it takes, as it is typed at a shell: required fields first.
    pub fn signature(&self) -> String {
        let root = self.field(None, &Picks::default());
        let fields = root.members().map_or(&[][..], |members| &members.fields);
        let word = |field: &&Field| format!("{}=<{}>", field.name, self.describe(field));
        let needed = fields.iter().filter(|field| field.required);
        let optional = fields.iter().filter(|field| !field.required);
        let words = needed
            .map(|field| word(&field))
            .chain(optional.map(|field| format!("[{}]", word(&field))));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The type of a field in a word: `integer`, `low|high`, `string[]`; `any` if it takes anything.
    pub fn describe(&self, field: &Field) -> String {
        let item = self.item(field).map(|item| self.describe_item(&item));
        field.words(item.as_deref())
    }

    /// Whether the schema says anything of a member of that name.
    pub fn describes(&self, name: &str) -> bool {
        let picks = Picks::default();
        let mut expansion = Expansion::new(&self.schema, &picks);
        let (is_named, place) = shell::member(&mut expansion, &Place::root(), name);
        is_named || place.schemas().next().is_some()
    }

    /// The field that a word of a shell leads to: `key`, `key.sub`, `key[0]`.
    pub fn field_of_key(&self, key: &str) -> Field {
        let picks = Picks::default();
        let mut expansion = Expansion::new(&self.schema, &picks);
        let (path, place) = shell::locate(&mut expansion, key);
        expansion.field(&place, &path, None)
    }

    /// The field of each item, if a field takes a list.
    pub fn item(&self, field: &Field) -> Option<Field> {
        let picks = Picks::default();
        let mut expansion = Expansion::new(&self.schema, &picks);
        shell::item_of(&mut expansion, field, &field.path)
    }

    /// The values that a word of a shell could be, if the schema lists them: those of the items
    /// where a list is given by repeating its key.
    pub fn values_of_key(&self, key: &str) -> Vec<String> {
        let field = self.field_of_key(key);
        let item = self
            .item(&field)
            .filter(|_| !field.types.has(Types::STRING));
        match &item.unwrap_or(field).kind {
            Kind::Choice { options } | Kind::MultiChoice { options, .. } => {
                options.iter().map(|option| option.label.clone()).collect()
            }
            Kind::Boolean => vec!["true".to_owned(), "false".to_owned()],
            _ => Vec::new(),
        }
    }

    /// The items of a list of lists are not described further.
    fn describe_item(&self, item: &Field) -> String {
        if item.types != Types::ALL && item.types.has(Types::ARRAY) {
            return "list".to_owned();
        }
        let words = item.words(None);
        match words.contains('|') {
            true => format!("({words})"),
            false => words,
        }
    }
}

impl Field {
    /// The name of the member as it is sent; nothing for items and the root.
    pub fn key(&self) -> Option<&str> {
        match self.path.0.last()? {
            Step::Key(name) => Some(name),
            Step::Index(_) => None,
        }
    }

    /// The members, if it is an object, also as one of several shapes.
    pub fn members(&self) -> Option<&Members> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            Kind::Variants {
                field: Some(field), ..
            } => field.members(),
            _ => None,
        }
    }

    fn words(&self, item: Option<&str>) -> String {
        if let Kind::Choice { options } = &self.kind {
            let shown = options.iter().take(MOST_CHOICES);
            let mut words: Vec<&str> = shown.map(|option| option.label.as_str()).collect();
            if options.len() > MOST_CHOICES {
                words.push("…");
            }
            let lists_null = options
                .iter()
                .any(|option| option.value == crate::Value::Null);
            if self.nullable && !lists_null {
                words.push("null");
            }
            return words.join("|");
        }
        let types = match &self.kind {
            Kind::Object(_) => self.types.and(Types::OBJECT.or(Types::NULL)),
            Kind::Text { .. } => self.types.and(Types::STRING.or(Types::NULL)),
            _ => self.types,
        };
        if types == Types::ALL || types == Types::NONE {
            return "any".to_owned();
        }
        let words = types.each().map(|(kind, name, _)| match item {
            Some(item) if kind == Types::ARRAY => format!("{item}[]"),
            _ if kind == Types::ARRAY => "list".to_owned(),
            _ => name.to_owned(),
        });
        let mut words: Vec<String> = words.collect();
        // Null is what is left when nothing else is said.
        if let Some(at) = words.iter().position(|word| word == "null") {
            let null = words.remove(at);
            words.push(null);
        }
        words.join("|")
    }
}
