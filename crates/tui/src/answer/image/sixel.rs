//! Sixels: six rows of pixels at a time, one colour after the other.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How many steps each of red, green and blue has.
const STEPS: usize = 6;

/// Draws pixels from the cursor on.
pub(super) fn encoded(pixels: &[[u8; 3]], width: usize, height: usize) -> String {
    let colors: Vec<usize> = pixels.iter().map(|pixel| color(*pixel)).collect();
    let used: BTreeSet<usize> = colors.iter().copied().collect();
    let mut told = format!("\x1bPq\"1;1;{width};{height}");
    for color in &used {
        let part = |step: usize| step * 100 / (STEPS - 1);
        let (red, rest) = (color / (STEPS * STEPS), color % (STEPS * STEPS));
        let (red, green, blue) = (part(red), part(rest / STEPS), part(rest % STEPS));
        let _ = write!(told, "#{color};2;{red};{green};{blue}");
    }
    for top in (0..height).step_by(6) {
        let at = |x: usize, y: usize| colors.get((top + y) * width + x).copied();
        let rows = 6.min(height - top);
        let band: BTreeSet<usize> = (0..rows)
            .flat_map(|y| (0..width).filter_map(move |x| at(x, y)))
            .collect();
        for color in band {
            let _ = write!(told, "#{color}");
            let bits = (0..width).map(|x| {
                let set = (0..rows).filter(|y| at(x, *y) == Some(color));
                set.fold(0_u8, |bits, y| bits | 1 << y)
            });
            repeated(bits, &mut told);
            // Back to the beginning of the band for the next colour.
            told.push('$');
        }
        told.push('-');
    }
    told.push_str("\x1b\\");
    told
}

/// The nearest colour of a cube.
fn color(pixel: [u8; 3]) -> usize {
    let [red, green, blue] = pixel.map(|part| (usize::from(part) * (STEPS - 1) + 127) / 255);
    (red * STEPS + green) * STEPS + blue
}

/// Writes columns of six pixels; several equal ones as a count.
fn repeated(bits: impl Iterator<Item = u8>, told: &mut String) {
    let mut bits = bits.peekable();
    while let Some(one) = bits.next() {
        let mut count = 1;
        while bits.next_if_eq(&one).is_some() {
            count += 1;
        }
        let letter = char::from(b'?' + one);
        match count {
            1..=3 => told.extend(std::iter::repeat_n(letter, count)),
            _ => {
                let _ = write!(told, "!{count}{letter}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_one_colour_after_the_other() {
        let (red, black) = ([255, 0, 0], [0, 0, 0]);
        let pixels = [red, red, red, red, red, black, black, black, black, black];
        assert_eq!(
            encoded(&pixels, 5, 2),
            "\x1bPq\"1;1;5;2#0;2;0;0;0#180;2;100;0;0#0!5A$#180!5@$-\x1b\\"
        );
    }
}
