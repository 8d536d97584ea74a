//! Decodes the base64 of images, sounds and binary resources, as leniently as servers write it.

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};

/// Ends are cut off before, so that any number of them is forgiven.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Decodes base64 of either alphabet; white space and missing padding are forgiven.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    let standard = |byte: u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => byte,
    };
    let mut digits: Vec<u8> = text.bytes().map(standard).collect();
    digits.retain(|byte| !byte.is_ascii_whitespace());
    while digits.pop_if(|byte| *byte == b'=').is_some() {}
    LENIENT.decode(digits).map_err(|error| match error {
        DecodeError::InvalidByte(_, b'=') => "it goes on after its end",
        DecodeError::InvalidByte(..) => "it has characters that are not base64",
        _ => "it is cut off",
    })
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
            ("Zh", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9v\nYmFy", b"foobar"),
            ("+/+/", b"\xfb\xff\xbf"),
            ("-_-_", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(decode(text).unwrap(), bytes, "{text}");
            assert_eq!(decoded_length(text), bytes.len(), "{text}");
        }
        for (text, problem) in [
            ("Z", "it is cut off"),
            ("Zm9vYg==Zg", "it goes on after its end"),
            ("Zm9!", "it has characters that are not base64"),
            ("ü", "it has characters that are not base64"),
        ] {
            assert_eq!(decode(text), Err(problem), "{text}");
        }
    }
}
