//! Writes messages as lines. The counterpart of `envelope` and `framing`.
//!
//! Request metadata travels beside the params and is joined here, so that no params type carries
//! protocol plumbing.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::Error as _;

use crate::wire::json::decode_text;
use crate::{ErrorObject, Json, RequestId};

/// The params of a request, written as JSON and ready to be copied into its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params(String);

impl From<Json> for Params {
    fn from(params: Json) -> Self {
        Self(params.as_str().to_owned())
    }
}

impl Params {
    /// Writes params of any type.
    pub fn write<P: Serialize + ?Sized>(params: &P) -> Result<Self, serde_json::Error> {
        serde_json::to_string(params).map(Self)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Decodes the params as `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        decode_text(&self.0)
    }
}

/// What to do with params that turn out to be an empty object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyParams {
    /// Leave `params` out (seeds rows 17 and 18).
    #[default]
    Omit,
    /// Write `"params":{}`.
    Write,
}

/// Fields for `_meta`, already written as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaFields(String);

impl MetaFields {
    /// Adds one field.
    pub fn add<T: Serialize + ?Sized>(
        &mut self,
        key: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        let (key, value) = (serde_json::to_string(key)?, serde_json::to_string(value)?);
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&key);
        self.0.push(':');
        self.0.push_str(&value);
        Ok(())
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A request that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its id.
    pub id: u64,
    /// Its method.
    pub method: &'a str,
    /// Its params, without metadata.
    pub params: &'a Params,
    /// The parts of its metadata, which are joined in order.
    pub meta: &'a [&'a MetaFields],
    /// What to do with params that are empty.
    pub empty: EmptyParams,
}

impl Request<'_> {
    /// Appends the request as one line to what waits to be written; nothing if it cannot be written.
    pub fn append_to(&self, lines: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let start = lines.len();
        lines.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        let written = serde_json::to_writer(&mut *lines, &self.id)
            .and_then(|()| write_method(lines, self.method, self.params, self.meta, self.empty));
        match written {
            Ok(()) => end_line(lines, start),
            Err(_) => lines.truncate(start),
        }
        written
    }

    /// The request as one line.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = Vec::with_capacity(256 + self.params.as_str().len());
        self.append_to(&mut line)?;
        Ok(line)
    }
}

/// A request as one line. `meta` parts are joined in order.
pub fn request<P: Serialize + ?Sized>(
    id: u64,
    method: &str,
    params: &P,
    meta: &[&MetaFields],
    empty: EmptyParams,
) -> Result<Vec<u8>, serde_json::Error> {
    let params = &Params::write(params)?;
    let request = Request {
        id,
        method,
        params,
        meta,
        empty,
    };
    request.to_line()
}

/// A notification as one line.
pub fn notification<P: Serialize + ?Sized>(
    method: &str,
    params: &P,
    meta: &[&MetaFields],
) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(128);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    let params = Params::write(params)?;
    write_method(&mut line, method, &params, meta, EmptyParams::Omit)?;
    end_line(&mut line, 0);
    Ok(line)
}

/// A successful answer as one line.
pub fn result<R: Serialize + ?Sized>(
    id: &RequestId,
    result: &R,
) -> Result<Vec<u8>, serde_json::Error> {
    response(id, "result", result)
}

/// An error answer as one line.
pub fn error(id: &RequestId, error: &ErrorObject) -> Result<Vec<u8>, serde_json::Error> {
    response(id, "error", error)
}

fn response<T: Serialize + ?Sized>(
    id: &RequestId,
    member: &str,
    value: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(256);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut line, id)?;
    line.extend_from_slice(b",\"");
    line.extend_from_slice(member.as_bytes());
    line.extend_from_slice(b"\":");
    serde_json::to_writer(&mut line, value)?;
    line.push(b'}');
    end_line(&mut line, 0);
    Ok(line)
}

fn write_method(
    line: &mut Vec<u8>,
    method: &str,
    params: &Params,
    meta: &[&MetaFields],
    empty: EmptyParams,
) -> Result<(), serde_json::Error> {
    line.extend_from_slice(b",\"method\":");
    serde_json::to_writer(&mut *line, method)?;
    let before_params = line.len();
    line.extend_from_slice(b",\"params\":");
    let start = line.len();
    let text = match params.as_str() {
        "null" => "{}",
        text => text,
    };
    if !text.starts_with('{') {
        return Err(serde_json::Error::custom("params must be a JSON object"));
    }
    line.extend_from_slice(text.as_bytes());
    if meta.iter().any(|part| !part.is_empty()) {
        append_meta(line, start, meta);
    } else if empty == EmptyParams::Omit && line[start + 1..].trim_ascii() == b"}" {
        line.truncate(before_params);
    }
    line.push(b'}');
    Ok(())
}

/// Reopens the params object that begins at `start` and adds `_meta` to it.
fn append_meta(line: &mut Vec<u8>, start: usize, meta: &[&MetaFields]) {
    let body = line.trim_ascii_end().len() - 1;
    line.truncate(line[..body].trim_ascii_end().len());
    if line.len() > start + 1 {
        line.push(b',');
    }
    line.extend_from_slice(b"\"_meta\":{");
    for (index, part) in meta.iter().filter(|part| !part.is_empty()).enumerate() {
        if index > 0 {
            line.push(b',');
        }
        line.extend_from_slice(part.0.as_bytes());
    }
    line.extend_from_slice(b"}}");
}

/// Ends the line that begins at `start`. Raw JSON from outside may be spread over several lines; in
/// JSON a raw line break can only be white space, so a blank says the same (X-STDIO-01).
fn end_line(line: &mut Vec<u8>, start: usize) {
    let mut at = start;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &line[at..]) {
        at += found;
        line[at] = b' ';
    }
    line.push(b'\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(fields: &[(&str, u64)]) -> MetaFields {
        let mut meta = MetaFields::default();
        for (key, value) in fields {
            meta.add(key, value).unwrap();
        }
        meta
    }

    #[track_caller]
    fn check(params: &impl Serialize, parts: &[&MetaFields], expected: &str) {
        let line = request(3, "m", params, parts, EmptyParams::Omit).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\"{expected}}}\n")
        );
    }

    #[test]
    fn params_and_metadata_are_joined() {
        let (none, one, two) = (meta(&[]), meta(&[("a", 1)]), meta(&[("b", 2), ("c", 3)]));
        check(&json!({}), &[], "");
        check(&(), &[&none], "");
        check(&json!({"x":1}), &[], r#","params":{"x":1}"#);
        check(&json!({}), &[&none, &one], r#","params":{"_meta":{"a":1}}"#);
        check(
            &json!({"x":1}),
            &[&one, &two],
            r#","params":{"x":1,"_meta":{"a":1,"b":2,"c":3}}"#,
        );
    }

    // X-STDIO-01.
    #[test]
    fn raw_params_over_several_lines_become_one_line() {
        let raw = Json::parse("{\r\n  \"x\": \"a\\nb\"\n}").unwrap();
        check(
            &raw,
            &[&meta(&[("a", 1)])],
            ",\"params\":{    \"x\": \"a\\nb\",\"_meta\":{\"a\":1}}",
        );
    }

    #[test]
    fn params_that_are_no_object_are_refused() {
        assert!(request(1, "m", &[1], &[], EmptyParams::Omit).is_err());
        assert!(request(1, "m", "x", &[], EmptyParams::Write).is_err());
    }

    #[test]
    fn empty_params_may_be_written() {
        let line = request(1, "m", &(), &[], EmptyParams::Write).unwrap();
        assert_eq!(
            line,
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}}\n"
        );
    }

    // X-BASE-05.
    #[test]
    fn fault_41_answers_echo_the_id_in_its_own_type() {
        let line = result(&"7".into(), &json!({})).unwrap();
        assert_eq!(line, b"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n");
        let line = error(&7.into(), &ErrorObject::new(-32601, "no")).unwrap();
        assert_eq!(
            line,
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n"
        );
    }
}
