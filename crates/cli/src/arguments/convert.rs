//! One typed word, made the JSON that its place in the schema wants.
//!
//! Text wins where the schema allows text, because `key:=json` says everything else as easily.

use attache::protocol::Json;
use serde_json::Value;

use super::schema::{Kinds, Place, plain};

/// Converts `text`; the error says what was expected.
pub(super) fn text(text: &str, place: &Place<'_>) -> Result<Json, String> {
    if let Some(choices) = place.choices() {
        let chosen = choices.iter().find(|choice| plain(choice) == text);
        return match chosen {
            Some(choice) => Ok(Json::from((*choice).clone())),
            None => Err(expected(place)),
        };
    }
    let kinds = place.kinds();
    if kinds.has(Kinds::STRING) {
        return Ok(string(text));
    }
    let literal = Json::parse(text.trim()).ok();
    let fits = |literal: &Json| match literal.as_str().as_bytes().first() {
        Some(b'n') => kinds.has(Kinds::NULL),
        Some(b't' | b'f') => kinds.has(Kinds::BOOLEAN),
        Some(b'[') => kinds.has(Kinds::ARRAY),
        Some(b'{') => kinds.has(Kinds::OBJECT),
        Some(b'-' | b'0'..=b'9') => {
            kinds.has(Kinds::NUMBER) || (kinds.has(Kinds::INTEGER) && is_whole(literal))
        }
        // A string in quotes is not what the place wants.
        _ => false,
    };
    match literal.filter(fits) {
        Some(literal) => Ok(literal),
        None => single_item(text, place).ok_or_else(|| expected(place)),
    }
}

/// A list of one, where a list is wanted and the word is one of its items.
fn single_item(text: &str, place: &Place<'_>) -> Option<Json> {
    // Nested lists have to be written out, so this goes down one level only.
    let items = place
        .items()
        .filter(|items| items.kinds() == Kinds::ALL || !items.kinds().has(Kinds::ARRAY))?;
    let item = self::text(text, &items).ok()?;
    Json::from_serialize(&[item]).ok()
}

fn string(text: &str) -> Json {
    Json::from(Value::String(text.to_owned()))
}

/// Whole numbers of any size; in JSON Schema 3.0 is one too.
fn is_whole(literal: &Json) -> bool {
    let digits = literal.as_str().trim_start_matches('-');
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let number: Result<f64, _> = literal.decode();
    number.is_ok_and(|number| number.fract() == 0.0)
}

/// What a place wants, in words.
fn expected(place: &Place<'_>) -> String {
    if let Some(choices) = place.choices() {
        let words: Vec<String> = choices.into_iter().map(plain).collect();
        return format!("one of {}", words.join(", "));
    }
    let kinds = place.kinds();
    let mut words = Vec::new();
    if kinds.has(Kinds::NUMBER) {
        words.push("a number".to_owned());
    } else if kinds.has(Kinds::INTEGER) {
        words.push("a whole number".to_owned());
    }
    if kinds.has(Kinds::BOOLEAN) {
        words.push("true or false".to_owned());
    }
    if let Some(items) = place.items() {
        words.push(match items.kinds() {
            Kinds::STRING => "a list of texts".to_owned(),
            Kinds::INTEGER => "a list of whole numbers".to_owned(),
            Kinds::NUMBER => "a list of numbers".to_owned(),
            _ => "a JSON list".to_owned(),
        });
    }
    if kinds.has(Kinds::OBJECT) {
        words.push("a JSON object".to_owned());
    }
    if kinds.has(Kinds::NULL) {
        words.push("null".to_owned());
    }
    if words.is_empty() {
        return "nothing that could be written".to_owned();
    }
    words.join(" or ")
}
