//! What the name of a field says about it.

/// Whether a name says that its value is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    let pairs = [
        ["api", "key"],
        ["access", "key"],
        ["private", "key"],
        ["secret", "key"],
    ];
    let secret = [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "secret",
        "credential",
        "apikey",
    ];
    words.iter().any(|word| secret.contains(&word.as_str()))
        || words.windows(2).any(|two| pairs.iter().any(|pair| two == pair))
        // A `max_tokens` is no secret, nor is a `token_count`.
        || words.last().is_some_and(|last| last == "token")
}

/// Whether a name says that its value has several lines.
pub(super) fn is_long(name: &str) -> bool {
    let long = [
        "body", "code", "content", "contents", "markdown", "script", "source", "text",
    ];
    words(name)
        .last()
        .is_some_and(|last| long.contains(&last.as_str()))
}

/// The words of a name in lower case, however they are joined.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = character.is_lowercase();
        if let Some(word) = words.last_mut()
            && character.is_alphanumeric()
        {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets_and_long_texts() {
        for name in [
            "password",
            "userPassword",
            "API_KEY",
            "apiKey",
            "client-secret",
            "accessToken",
            "token",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "max_tokens",
            "tokenCount",
            "key",
            "passenger",
            "secretary",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        assert!(is_long("body") && is_long("fileContent") && is_long("source_text"));
        assert!(!is_long("text_size") && !is_long("name"));
    }
}
