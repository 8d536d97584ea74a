//! Decodes an image and scales it to its place, within limits.

use std::io::Cursor;

use image::{DynamicImage, GenericImageView as _, ImageReader, Limits, Rgba};

use super::protocol::Protocol;
use super::{Scaled, iterm, kitty, sixel};

/// How wide and high an image may be.
const MAX_SIDE: u32 = 16_384;
/// How many pixels it may have; a small file can claim any number of them.
const MAX_PIXELS: u64 = 50_000_000;
/// How much memory decoding may take.
const MAX_MEMORY: u64 = 256 * 1024 * 1024;

/// An image in so many columns at most, of an animation its first picture.
pub(super) fn scaled(
    bytes: &[u8],
    columns: usize,
    rows: usize,
    protocol: Protocol,
    number: u32,
) -> Result<Scaled, String> {
    let image = decoded(bytes)?;
    let original = image.dimensions();
    // A cell is about twice as high as it is wide.
    let (columns, rows) = place(original, columns, rows);
    let side = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let halves = image.thumbnail_exact(side(columns), side(rows * 2));
    let halves = halves.pixels().map(|(_, _, pixel)| opaque(pixel)).collect();
    let graphics = match protocol {
        Protocol::HalfBlocks => None,
        Protocol::Kitty => fitted(&image, columns, rows)
            .and_then(|image| png(&image))
            .map(|png| kitty::transmission(&png, number, columns, rows)),
        Protocol::Iterm => fitted(&image, columns, rows)
            .and_then(|image| png(&image))
            .map(|png| iterm::inline(&png, columns, rows)),
        Protocol::Sixel => fitted(&image, columns, rows).map(|image| {
            let (width, height) = image.dimensions();
            let pixels: Vec<[u8; 3]> = image.pixels().map(|(_, _, pixel)| opaque(pixel)).collect();
            sixel::encoded(&pixels, width as usize, height as usize)
        }),
    };
    Ok(Scaled {
        columns,
        rows,
        halves,
        graphics: graphics.map(|told| (protocol, told)),
        original,
    })
}

fn decoded(bytes: &[u8]) -> Result<DynamicImage, String> {
    let problem = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        format!(
            "it cannot be decoded ({})",
            attache_view::safe_text::one_line(&text)
        )
    };
    let open = || {
        ImageReader::new(Cursor::new(bytes))
            .with_guessed_format()
            .map_err(|error| problem(&error))
    };
    let (width, height) = open()?.into_dimensions().map_err(|error| problem(&error))?;
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(format!(
            "it has {width}×{height} pixels, too many to be shown"
        ));
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = open()?;
    reader.limits(limits);
    reader.decode().map_err(|error| problem(&error))
}

/// The cells that an image takes, with its proportions kept and no larger than it is.
fn place((width, height): (u32, u32), columns: usize, rows: usize) -> (usize, usize) {
    let (width, height) = (width.max(1) as usize, height.max(1) as usize);
    let columns = columns.min(width).max(1);
    let wanted = (columns * height).div_ceil(width * 2).max(1);
    match wanted <= rows {
        true => (columns, wanted),
        false => ((rows * 2 * width / height).clamp(1, columns), rows),
    }
}

/// The image in the pixels of its cells; nothing if the terminal does not tell how large they are.
fn fitted(image: &DynamicImage, columns: usize, rows: usize) -> Option<DynamicImage> {
    let window = ratatui::crossterm::terminal::window_size().ok()?;
    if [window.width, window.height, window.columns, window.rows].contains(&0) {
        return None;
    }
    let cell = |pixels: u16, cells: u16| u32::from(pixels) / u32::from(cells).max(1);
    let side = |count: usize| u32::try_from(count).unwrap_or(1);
    let width = side(columns) * cell(window.width, window.columns).clamp(1, 64);
    let height = side(rows) * cell(window.height, window.rows).clamp(1, 128);
    Some(image.thumbnail_exact(width.max(1), height.max(1)))
}

fn png(image: &DynamicImage) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    image
        .write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png)
        .ok()?;
    Some(bytes)
}

/// A pixel on black, which is what most terminals are.
fn opaque(Rgba([red, green, blue, alpha]): Rgba<u8>) -> [u8; 3] {
    [red, green, blue].map(|part| {
        let lit = u16::from(part) * u16::from(alpha) / 255;
        u8::try_from(lit).unwrap_or(u8::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_proportions_and_limits() {
        for (size, columns, rows, expected) in [
            ((100, 100), 40, 35, (40, 20)),
            ((10, 10), 40, 35, (10, 5)),
            ((100, 1_000), 40, 35, (7, 35)),
            ((1, 16_000), 40, 35, (1, 35)),
            ((16_000, 1), 40, 35, (40, 1)),
            ((0, 0), 40, 35, (1, 1)),
        ] {
            assert_eq!(place(size, columns, rows), expected, "{size:?}");
        }
    }

    #[test]
    fn what_is_no_image_or_too_large_a_one_is_told() {
        assert!(scaled(b"nothing", 10, 10, Protocol::HalfBlocks, 1).is_err());
        // A file of a few bytes that claims four thousand million pixels.
        let mut claims = vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13];
        claims.extend(b"IHDR\x00\x00\xff\xff\x00\x00\xff\xff\x08\x02\x00\x00\x00");
        claims.extend([0; 4]);
        let refused = scaled(&claims, 10, 10, Protocol::HalfBlocks, 1);
        assert!(refused.is_err());
    }
}
