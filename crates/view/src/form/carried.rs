//! A form being filled in, on its way to a face in another process and back.
//!
//! Values travel as JSON text inside of strings, because such a face may not keep large numbers
//! when it reads JSON.

use attache_schema::Path;
use serde::{Deserialize, Serialize};

use super::State;
use super::state::Picks;
use crate::Value;

/// A [`State`] that can be sent. The face that gets it gives it back as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CarriedState {
    /// The value; nothing if it is unset.
    pub value_json: Option<String>,
    /// Texts that say no value, by field.
    pub drafts: Vec<(Path, String)>,
    /// The variants that were picked, by field.
    pub picks: Vec<(Path, usize)>,
    /// What variants held that are not picked now.
    pub kept: Vec<(Path, usize, Option<String>)>,
}

impl From<&State> for CarriedState {
    fn from(state: &State) -> Self {
        let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        let drafts = state.drafts.iter();
        let picks = state.picks.0.iter();
        let kept = state.kept.iter();
        Self {
            value_json: text(&state.value),
            drafts: drafts
                .map(|(path, text)| (path.clone(), text.clone()))
                .collect(),
            picks: picks.map(|(path, pick)| (path.clone(), *pick)).collect(),
            kept: kept
                .map(|((path, pick), value)| (path.clone(), *pick, text(value)))
                .collect(),
        }
    }
}

impl TryFrom<CarriedState> for State {
    type Error = serde_json::Error;

    fn try_from(carried: CarriedState) -> Result<Self, serde_json::Error> {
        let read = |text: Option<String>| text.map(|text| Value::parse(&text)).transpose();
        let kept = carried.kept.into_iter();
        let kept = kept.map(|(path, pick, value)| Ok(((path, pick), read(value)?)));
        Ok(Self {
            value: read(carried.value_json)?,
            drafts: carried.drafts.into_iter().collect(),
            picks: Picks(carried.picks.into_iter().collect()),
            kept: kept.collect::<Result<_, serde_json::Error>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use attache_protocol::Json;

    use super::super::Form;
    use super::*;

    #[test]
    fn a_form_survives_the_way_there_and_back_with_drafts_picks_and_large_numbers() {
        let schema = r#"{"type":"object","properties":{
            "count":{"type":"integer"},
            "one":{"oneOf":[
                {"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
                {"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}}}"#;
        let form = Form::new(&Json::parse(schema).unwrap());
        let value = r#"{"big":123456789012345678901234567890,"one":{"a":"x"}}"#;
        let mut state = State::new(Some(Value::parse(value).unwrap()));
        let count = form.field_of_key("count");
        assert!(state.enter(&count, "many").is_err());
        let fields = state.field(&form);
        let one = fields.find(&Path::default().key("one")).unwrap().clone();
        let one = fields
            .children()
            .into_iter()
            .find(|it| it.path == one.path)
            .unwrap();
        state.pick(one, 1);
        let carried = serde_json::to_string(&CarriedState::from(&state)).unwrap();
        let read: CarriedState = serde_json::from_str(&carried).unwrap();
        assert_eq!(State::try_from(read).unwrap(), state);
        assert!(carried.contains("123456789012345678901234567890"));
        assert!(!state.kept.is_empty() && !state.drafts.is_empty());
    }
}
