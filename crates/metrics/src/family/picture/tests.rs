//! What the corrected reading of the metrics of pictures says where upstream is at fault.

use serde_json::Map;

use super::super::compute;
use crate::evidence::{EvidenceValue, FileRef};
use crate::scoring::{Compat, CompatProbe, MetricInput};

/// Makes a PNG picture of a kind whose pixels a function gives.
fn picture(color: png::ColorType, size: [u32; 2], pixel: impl Fn(u32, u32) -> Vec<u8>) -> EvidenceValue {
    let [width, height] = size;
    let bytes: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| [(x, y)]))
        .flat_map(|(x, y)| pixel(x, y))
        .collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.write_header().expect("a header").write_image_data(&bytes).expect("pixels");
    EvidenceValue::files_of(vec![Some(FileRef::new("p.png", file))])
}

fn score(
    metric: &str,
    compat: Compat,
    found: &EvidenceValue,
    wanted: Option<&EvidenceValue>,
) -> Result<f64, String> {
    let (options, reading) = (Map::new(), CompatProbe::new(compat));
    let case = MetricInput {
        result: found,
        expected: wanted,
        options: &options,
        reading: &reading,
        beside: &[],
        readings: &[],
        judgements: &[],
    };
    compute(metric, &case).map(|mark| mark.score).map_err(|fault| fault.message().to_owned())
}

#[test]
fn other_colors_under_the_same_opacity_differ() {
    let rgba = |red: u8| picture(png::ColorType::Rgba, [9, 9], move |_, _| vec![red, 0, 0, 255]);
    let (one, other) = (rgba(10), rgba(200));
    let found = |compat| score("compare_image_list", compat, &one, Some(&other));
    assert_eq!((found(Compat::Exact), found(Compat::Fixed)), (Ok(1.0), Ok(0.0)));
    assert_eq!(score("compare_image_list", Compat::Fixed, &one, Some(&one)), Ok(1.0));
    assert!(score("compare_image_list", Compat::Fixed, &one, None).is_err());
}

#[test]
fn a_background_is_green_in_pictures_that_are_no_squares() {
    let of = |rgb: [u8; 3]| {
        picture(
            png::ColorType::Rgb,
            [12, 8],
            move |x, y| if x < 3 && y < 3 { vec![0, 0, 0] } else { rgb.to_vec() },
        )
    };
    let white = of([255, 255, 255]);
    let found = |rgb, compat| score("check_green_background", compat, &of(rgb), Some(&white));
    assert!(found([0, 200, 0], Compat::Exact).is_err());
    assert_eq!((found([0, 200, 0], Compat::Fixed), found([200, 200, 0], Compat::Fixed)), (Ok(1.0), Ok(0.0)));
}

#[test]
fn the_triangle_is_the_second_color_and_not_one_of_its_edge() {
    // A background, a shape, and an edge of few pixels far from the shape's middle.
    let at = |left: u32| {
        picture(png::ColorType::Rgb, [40, 30], move |x, y| match (x, y) {
            (0, 0..3) => vec![90, 90, 90],
            (39, 0..2) => vec![120, 90, 90],
            (x, 10..20) if (left..left + 12).contains(&x) => vec![250, 220, 10],
            _ => vec![255, 255, 255],
        })
    };
    let found = |left, compat| score("check_triangle_position", compat, &at(left), None);
    assert_eq!((found(14, Compat::Fixed), found(2, Compat::Fixed)), (Ok(1.0), Ok(0.0)));
    assert_eq!(found(14, Compat::Exact), Ok(0.0));
}

#[test]
fn pictures_that_are_not_read_here_have_no_score() {
    let webp = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0".to_vec();
    let found = EvidenceValue::files_of(vec![Some(FileRef::new("p.webp", webp))]);
    let fault = score("check_structure_sim", Compat::Fixed, &found, Some(&found)).expect_err("no score");
    assert!(fault.contains("not read here"), "{fault}");
    let broken = EvidenceValue::files_of(vec![Some(FileRef::new("p.png", b"no picture".to_vec()))]);
    let white = picture(png::ColorType::Rgb, [9, 9], |_, _| vec![255; 3]);
    assert_eq!(score("check_image_mirror", Compat::Fixed, &broken, Some(&white)), Ok(0.0));
    assert!(score("check_image_mirror", Compat::Fixed, &white, Some(&broken)).is_err(), "the task's fault");
}

#[test]
fn scores_are_never_below_zero() {
    let of = |turn: bool| {
        picture(png::ColorType::Grayscale, [16, 16], move |x, y| {
            vec![if ((x + y) % 2 == 0) == turn { 255 } else { 0 }]
        })
    };
    let (one, other) = (of(false), of(true));
    let found = |compat| score("compare_images", compat, &one, Some(&other)).expect("a score");
    assert!(found(Compat::Exact) < 0.0);
    assert_eq!(found(Compat::Fixed).to_bits(), 0.0_f64.to_bits());
}
