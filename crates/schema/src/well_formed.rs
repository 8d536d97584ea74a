//! Whether the words of a schema have the values that they can have.

use crate::{Types, Value};

/// What is wrong with the value of a word, if it is a word that is known.
pub(crate) fn mistake(word: &str, rule: &Value) -> Option<&'static str> {
    let is_part = |it: &Value| matches!(it, Value::Object(_) | Value::Bool(_));
    let is_text = |it: &Value| matches!(it, Value::String(_));
    let all = |is: &dyn Fn(&Value) -> bool| rule.as_array().is_some_and(|it| it.iter().all(is));
    let members = |is: &dyn Fn(&Value) -> bool| {
        let object = rule.as_object();
        object.is_some_and(|object| object.iter().all(|(_, it)| is(it)))
    };
    let is_some = rule.as_array().is_some_and(|it| !it.is_empty());
    let (fits, expected) = match word {
        "type" => {
            let is_type = |it: &Value| {
                Types::NAMED
                    .iter()
                    .any(|(_, name, _)| it.as_str() == Some(name))
            };
            (
                is_type(rule) || (is_some && all(&is_type)),
                "the name of a type, or a list of such names",
            )
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => {
            let fits =
                matches!(rule, Value::Number(number) if number.is_whole() && !number.is_negative());
            (fits, "a count")
        }
        "minimum" | "maximum" => (matches!(rule, Value::Number(_)), "a number"),
        "multipleOf" => {
            let fits = matches!(rule, Value::Number(number) if number.is_positive());
            (fits, "a number greater than zero")
        }
        // Draft 4 says yes or no here.
        "exclusiveMinimum" | "exclusiveMaximum" => (
            matches!(rule, Value::Number(_) | Value::Bool(_)),
            "a number",
        ),
        "$ref" | "$dynamicRef" | "$recursiveRef" | "$id" | "$schema" | "$anchor"
        | "$dynamicAnchor" | "pattern" | "format" | "title" | "description" => {
            (is_text(rule), "text")
        }
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => {
            (matches!(rule, Value::Bool(_)), "true or false")
        }
        "required" => (all(&is_text), "a list of names"),
        "enum" | "examples" => (rule.as_array().is_some(), "a list"),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            (is_some && all(&is_part), "a list of schemas")
        }
        "items" => (is_part(rule) || all(&is_part), "a schema"),
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => (is_part(rule), "a schema"),
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            (members(&is_part), "schemas by name")
        }
        "dependentRequired" => {
            let is_names = |it: &Value| it.as_array().is_some_and(|it| it.iter().all(is_text));
            (members(&is_names), "lists of names by name")
        }
        _ => return None,
    };
    (!fits).then_some(expected)
}
