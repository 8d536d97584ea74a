//! Makes the tree of fields for a place of a schema and a value.

use std::collections::BTreeSet;

use attache_schema::{Checker, Path, Schema, Step, Types, Verdict, child_pointer};

use super::field::{Field, Kind, Members, Place, Variant};
use super::layers::{Group, Layers};
use super::limits::{MAX_FIELD_DEPTH, MAX_FIELDS, MAX_LIST_ITEMS, MAX_VARIANTS};
use super::state::Picks;
use super::widgets::{
    choice, choices_of_group, discriminator, has_shape, hinted, is_null, json, members, mismatch,
    text,
};
use crate::{Object, Value, safe_text};

/// How many examples a field keeps.
const MOST_EXAMPLES: usize = 20;

/// One expansion, with what is left of its limits.
pub(super) struct Expansion<'s> {
    pub(super) document: &'s Schema,
    pub(super) checker: Checker<'s>,
    picks: &'s Picks,
    fields_left: usize,
    depth: usize,
    /// The parts of the schema that the fields around are made of.
    around: Vec<BTreeSet<String>>,
}

/// Whose field it is that is to be made.
#[derive(Clone, Copy)]
struct Role {
    required: bool,
    undescribed: bool,
}

impl<'s> Expansion<'s> {
    pub(super) fn new(document: &'s Schema, picks: &'s Picks) -> Self {
        Self {
            document,
            checker: Checker::new(document),
            picks,
            fields_left: MAX_FIELDS,
            depth: 0,
            around: Vec::new(),
        }
    }

    pub(super) fn field(&mut self, place: &Place, path: &Path, value: Option<&Value>) -> Field {
        self.build(
            place,
            path,
            value,
            Role {
                required: false,
                undescribed: false,
            },
        )
    }

    pub(super) fn layers(&mut self, place: &Place, value: Option<&Value>) -> Layers<'s> {
        Layers::collect(self.document, &mut self.checker, place, value)
    }

    fn build(&mut self, place: &Place, path: &Path, value: Option<&Value>, role: Role) -> Field {
        let mut field = Field {
            path: path.clone(),
            name: match path.0.last() {
                Some(Step::Key(name)) => safe_text::one_line(name).into_owned(),
                Some(Step::Index(index)) => index.to_string(),
                None => String::new(),
            },
            title: None,
            description: None,
            required: role.required,
            nullable: false,
            read_only: false,
            deprecated: false,
            undescribed: role.undescribed,
            default: None,
            examples: Vec::new(),
            kind: Kind::Deferred,
            place: place.clone(),
            types: Types::ALL,
        };
        if self.fields_left == 0 || self.depth == MAX_FIELD_DEPTH {
            return field;
        }
        self.fields_left -= 1;
        let layers = self.layers(place, value);
        field.title = layers
            .text("title")
            .map(|title| safe_text::one_line(title).into_owned());
        field.description = layers
            .text("description")
            .map(|text| safe_text::block(text).into_owned());
        field.read_only = layers.says("readOnly");
        field.deprecated = layers.says("deprecated");
        field.examples = layers
            .all("examples")
            .filter_map(Value::as_array)
            .flatten()
            .take(MOST_EXAMPLES)
            .cloned()
            .collect();
        // A default that does not fit its own field is none.
        field.default = layers.all("default").next().cloned();
        if let Some(default) = &field.default
            && layers
                .layers
                .iter()
                .any(|layer| self.checker.verdict(layer.schema, default) == Verdict::Fails)
        {
            field.default = None;
        }
        field.types = layers.types();
        let is_circle = self
            .around
            .iter()
            .any(|around| !around.is_disjoint(&layers.visited));
        if value.is_some() || !is_circle {
            self.depth += 1;
            field.kind = self.kind(&layers, &mut field, value);
            self.depth -= 1;
        }
        field
    }

    fn kind(&mut self, layers: &Layers<'s>, field: &mut Field, value: Option<&Value>) -> Kind {
        if let Some(reason) = &layers.obstacle {
            return json(reason);
        }
        let only = field.place.only.as_deref();
        let only = Types::NAMED
            .into_iter()
            .find(|(_, name, _)| Some(*name) == only)
            .map_or(Types::ALL, |(kind, ..)| kind);
        field.types = layers.types().and(only);
        if field.types == Types::NONE {
            return json("the schema contradicts itself: no type of value fits it");
        }
        let own = layers.choices().map(|own| {
            own.into_iter()
                .map(|(value, title)| (value.clone(), title))
                .collect()
        });
        let of_group = || layers.groups.iter().find_map(choices_of_group);
        if let Some(listed) = own.or_else(of_group) {
            return choice(listed, field.types, value);
        }
        if let Some(group) = layers.groups.first() {
            return self.alternatives(group, field, value);
        }
        self.by_type(layers, field, value)
    }

    fn alternatives(
        &mut self,
        group: &Group<'s>,
        field: &mut Field,
        value: Option<&Value>,
    ) -> Kind {
        let (nulls, shapes): (Vec<usize>, Vec<usize>) =
            (0..group.branches.len()).partition(|at| is_null(&group.branches[*at]));
        let branch_pointer = |at: usize| child_pointer(&group.pointer, &[&at.to_string()]);
        let says_shape = |at: &usize| has_shape(&group.branches[*at]);
        let nullable = !nulls.is_empty();
        let decided = match shapes.as_slice() {
            [] => field.place.decided(
                &group.pointer,
                nulls.first().map(|at| branch_pointer(*at)).as_deref(),
            ),
            [one] => field
                .place
                .decided(&group.pointer, Some(&branch_pointer(*one))),
            several if several.len() > MAX_VARIANTS => {
                return json(&format!("the schema has more than {MAX_VARIANTS} variants"));
            }
            several if several.iter().any(says_shape) => {
                field.nullable |= nullable;
                return self.variants(group, several, field, value);
            }
            // Alternatives that only ask for members or ranges are left to the check.
            _ => field.place.decided(&group.pointer, None),
        };
        // Null fits the union, not the shape in it.
        let inner_value = value.filter(|value| !(nullable && **value == Value::Null));
        let role = Role {
            required: field.required,
            undescribed: field.undescribed,
        };
        let inner = self.build(&decided, &field.path.clone(), inner_value, role);
        let inner_nullable = inner.nullable;
        field.title = field.title.take().or(inner.title);
        field.description = field.description.take().or(inner.description);
        field.default = field.default.take().or(inner.default);
        field.nullable |= nullable || inner_nullable;
        field.types =
            field.types.and(
                inner
                    .types
                    .or(if nullable { Types::NULL } else { Types::NONE }),
            );
        inner.kind
    }

    fn variants(
        &mut self,
        group: &Group<'s>,
        shapes: &[usize],
        field: &mut Field,
        value: Option<&Value>,
    ) -> Kind {
        let mut types = if field.nullable {
            Types::NULL
        } else {
            Types::NONE
        };
        let options: Vec<Variant> = shapes
            .iter()
            .enumerate()
            .map(|(number, at)| {
                let pointer = child_pointer(&group.pointer, &[&at.to_string()]);
                let layers = self.layers(&Place::of(vec![pointer.clone()]), None);
                types = types.or(layers.types());
                let title = layers
                    .text("title")
                    .map(str::to_owned)
                    .or_else(|| discriminator(&layers));
                let title = title.unwrap_or_else(|| format!("variant {}", number + 1));
                Variant {
                    title: safe_text::one_line(&title).into_owned(),
                    place: field.place.decided(&group.pointer, Some(&pointer)),
                }
            })
            .collect();
        field.types = field.types.and(types);
        let picked = self
            .picks
            .get(&field.path)
            .filter(|picked| *picked < options.len());
        let chosen = match (picked, value) {
            (Some(picked), _) => Some(picked),
            (None, None | Some(Value::Null)) if value.is_none() || field.nullable => Some(0),
            (None, value) => {
                let branches: Vec<&'s Value> =
                    shapes.iter().map(|at| &group.branches[*at]).collect();
                value.and_then(|value| self.fitting(&branches, value))
            }
        };
        let value = value.filter(|value| !(field.nullable && **value == Value::Null));
        self.picked(options, chosen, field, value)
    }

    /// The variant that a value is of, or was meant for: of those that nothing speaks against, the
    /// one with the most fixed members that the value has.
    fn fitting(&mut self, branches: &[&'s Value], value: &Value) -> Option<usize> {
        let here = Path::default();
        let reports: Vec<_> = branches
            .iter()
            .map(|branch| self.checker.report(branch, value, &here))
            .collect();
        let of = |verdict: Verdict| {
            reports
                .iter()
                .position(|report| report.verdict() == verdict)
        };
        let agreeing = |branch: &Value| {
            let members = branch.get("properties").and_then(Value::as_object);
            let members = members.into_iter().flat_map(Object::iter);
            members
                .filter(|(name, part)| {
                    part.get("const")
                        .is_some_and(|fixed| value.get(name) == Some(fixed))
                })
                .count()
        };
        let meant = || {
            let is_meant = |at: &usize| {
                let mut problems = reports[*at].problems.iter();
                !problems.any(|problem| problem.is_discriminating(0))
            };
            let meant = (0..branches.len()).filter(is_meant);
            // Of several equal ones `max_by_key` takes the last.
            meant.rev().max_by_key(|at| agreeing(branches[*at]))
        };
        of(Verdict::Holds)
            .or_else(|| of(Verdict::Unknown))
            .or_else(meant)
    }

    fn picked(
        &mut self,
        options: Vec<Variant>,
        chosen: Option<usize>,
        field: &Field,
        value: Option<&Value>,
    ) -> Kind {
        let role = Role {
            required: field.required,
            undescribed: false,
        };
        let inner = chosen
            .map(|chosen| Box::new(self.build(&options[chosen].place, &field.path, value, role)));
        Kind::Variants {
            options,
            chosen,
            field: inner,
        }
    }

    fn by_type(&mut self, layers: &Layers<'s>, field: &mut Field, value: Option<&Value>) -> Kind {
        let mut types = field.types.without(Types::NULL);
        if field.types == Types::NULL {
            return choice(vec![(Value::Null, None)], Types::NULL, value);
        }
        if field.types == Types::ALL {
            match hinted(layers) {
                Some(hint) => types = hint,
                None => return json("the schema allows any value"),
            }
        } else {
            field.nullable |= field.types.has(Types::NULL);
        }
        if types.each().count() > 1 {
            return self.types(types, field, value);
        }
        if let Some(value) = value.filter(|value| !types.has(Types::of(value)))
            && !(field.nullable && *value == Value::Null)
        {
            return mismatch(Some(value), &types.words());
        }
        let value = value.filter(|value| **value != Value::Null);
        match types {
            Types::STRING => text(layers, field),
            Types::BOOLEAN => Kind::Boolean,
            Types::ARRAY => self.list(layers, field, value),
            Types::OBJECT => self.object(layers, field, value),
            _ => Kind::Number {
                whole: types == Types::INTEGER,
                minimum: layers.greatest("minimum"),
                maximum: layers.least("maximum"),
                above: layers.greatest("exclusiveMinimum"),
                below: layers.least("exclusiveMaximum"),
                step: layers.least("multipleOf"),
            },
        }
    }

    /// A field that takes values of several types is one with a variant for each.
    fn types(&mut self, types: Types, field: &Field, value: Option<&Value>) -> Kind {
        let kinds: Vec<_> = types.each().collect();
        let options = kinds
            .iter()
            .map(|(_, name, words)| {
                let mut place = field.place.clone();
                place.only = Some((*name).to_owned());
                Variant {
                    title: (*words).to_owned(),
                    place,
                }
            })
            .collect();
        let is_null = field.nullable && value == Some(&Value::Null);
        let value = value.filter(|_| !is_null);
        let by_value = match value {
            None => Some(0),
            Some(value) => kinds
                .iter()
                .position(|(kind, ..)| kind.has(Types::of(value))),
        };
        let picked = self
            .picks
            .get(&field.path)
            .filter(|picked| *picked < kinds.len());
        self.picked(options, picked.or(by_value), field, value)
    }

    fn list(&mut self, layers: &Layers<'s>, field: &Field, value: Option<&Value>) -> Kind {
        let items = value.and_then(Value::as_array).unwrap_or_default();
        if items.len() > MAX_LIST_ITEMS {
            return json(&format!("the list has more than {MAX_LIST_ITEMS} items"));
        }
        let count = layers.range("minItems", "maxItems");
        let unique = layers.says("uniqueItems");
        let first_count = layers.first_items();
        let rest = layers.item(first_count);
        let is_closed = rest
            .iter()
            .any(|pointer| self.document.at(pointer) == Some(&Value::Bool(false)));
        let rest = (!is_closed).then(|| Place::of(rest));
        self.around.push(layers.visited.clone());
        let mut kind = None;
        if let (0, Some(rest)) = (first_count, &rest)
            && let Kind::Choice { options } = self.field(rest, &field.path.index(0), None).kind
            && items
                .iter()
                .all(|item| options.iter().any(|option| option.value == *item))
        {
            kind = Some(Kind::MultiChoice {
                options,
                count,
                unique,
            });
        }
        let kind = kind.unwrap_or_else(|| {
            let first: Vec<Place> = (0..first_count.min(MAX_LIST_ITEMS))
                .map(|at| Place::of(layers.item(at)))
                .collect();
            let role = Role {
                required: true,
                undescribed: false,
            };
            let nothing = Place::of(Vec::new());
            let items = items.iter().enumerate().map(|(at, item)| {
                let place = first.get(at).or(rest.as_ref()).unwrap_or(&nothing);
                self.build(place, &field.path.index(at), Some(item), role)
            });
            Kind::List {
                items: items.collect(),
                first: first.clone(),
                rest: rest.clone(),
                count,
                unique,
            }
        });
        self.around.pop();
        kind
    }

    fn object(&mut self, layers: &Layers<'s>, field: &Field, value: Option<&Value>) -> Kind {
        let value = value.and_then(Value::as_object);
        let required = layers.required();
        let mut names: Vec<&str> = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let described = layers
            .all("properties")
            .filter_map(Value::as_object)
            .flat_map(Object::iter)
            .map(|(name, _)| name);
        let given = value
            .into_iter()
            .flat_map(Object::iter)
            .map(|(name, _)| name);
        for name in described.chain(required.iter().copied()).chain(given) {
            if seen.insert(name) {
                names.push(name);
            }
        }
        self.around.push(layers.visited.clone());
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            let parts = layers.member(&mut self.checker, name);
            let role = Role {
                required: required.contains(name),
                undescribed: parts.is_empty(),
            };
            let member = value.and_then(|value| value.get(name));
            fields.push(self.build(&Place::of(parts), &field.path.key(name), member, role));
        }
        self.around.pop();
        Kind::Object(Members {
            fields,
            ..members(layers, self.document)
        })
    }
}
