//! iTerm2's inline images.

use base64::Engine as _;

/// Draws an image over so many cells, from the cursor on.
pub(super) fn inline(png: &[u8], columns: usize, rows: usize) -> String {
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    let size = png.len();
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};\
         preserveAspectRatio=0;doNotMoveCursor=1:{data}\x07"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_one_sequence() {
        let told = inline(b"png", 4, 2);
        assert_eq!(
            told,
            "\x1b]1337;File=inline=1;size=3;width=4;height=2;\
             preserveAspectRatio=0;doNotMoveCursor=1:cG5n\x07"
        );
    }
}
