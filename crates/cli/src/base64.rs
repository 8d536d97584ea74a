//! Decodes the base64 of images, sounds and binary resources.

/// Decodes standard base64; white space and missing padding are forgiven.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    let mut padded = false;
    for character in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match character {
            b'=' => {
                padded = true;
                continue;
            }
            _ if padded => return Err("it goes on after its end"),
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Err("it has characters that are not base64"),
        };
        buffer = buffer << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
            buffer &= (1 << bits) - 1;
        }
    }
    if bits >= 6 {
        return Err("it is cut off");
    }
    Ok(bytes)
}

/// How many bytes the text stands for, without decoding it.
pub(crate) fn decoded_length(text: &str) -> usize {
    let characters = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
        .count();
    characters * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_decode_to_their_bytes() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zg", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9v\nYmFy", b"foobar"),
            ("+/+/", b"\xfb\xff\xbf"),
            ("-_-_", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(decode(text).unwrap(), bytes, "{text}");
            assert_eq!(decoded_length(text), bytes.len(), "{text}");
        }
        for text in ["Z", "Zm9vYg==Zg", "Zm9!", "ü"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
