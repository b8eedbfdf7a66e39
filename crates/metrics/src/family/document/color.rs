//! Colours of documents and their distance as people see it (CIEDE2000, as scikit-image computes it).

/// A colour in red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) [u8; 3]);

/// A colour in CIE L*a*b* under daylight (D65, 2 degrees).
#[derive(Clone, Copy)]
struct Lab {
    l: f64,
    a: f64,
    b: f64,
}

impl Rgb {
    /// Reads six hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let part = |from: usize, to: usize| u8::from_str_radix(text.get(from..to)?, 16).ok();
        Some(Self([part(0, 2)?, part(2, 4)?, part(4, text.len())?]))
    }

    fn lab(self) -> Lab {
        let linear = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part > 0.04045 { ((part + 0.055) / 1.055).powf(2.4) } else { part / 12.92 }
        });
        let row = |weights: [f64; 3], white: f64| {
            let sum: f64 = weights.iter().zip(linear).map(|(weight, part)| weight * part).sum();
            let part = sum / white;
            if part > 0.008_856 { part.cbrt() } else { 7.787 * part + 16.0 / 116.0 }
        };
        let x = row([0.412_453, 0.357_580, 0.180_423], 0.95047);
        let y = row([0.212_671, 0.715_160, 0.072_169], 1.0);
        let z = row([0.019_334, 0.119_193, 0.950_227], 1.08883);
        Lab { l: 116.0 * y - 16.0, a: 500.0 * (x - y), b: 200.0 * (y - z) }
    }
}

/// Returns the difference of two colours.
pub(super) fn difference(one: Rgb, other: Rgb) -> f64 {
    ciede2000(one.lab(), other.lab())
}

fn ciede2000(one: Lab, other: Lab) -> f64 {
    let seventh = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25_f64.powi(7))).sqrt();
    let mean = (one.a.hypot(one.b) + other.a.hypot(other.b)) / 2.0;
    let scale = 1.0 + 0.5 * (1.0 - seventh(mean));
    let polar = |color: Lab| {
        let a = color.a * scale;
        let hue = color.b.atan2(a).to_degrees();
        (a.hypot(color.b), if hue < 0.0 { hue + 360.0 } else { hue })
    };
    let ((chroma1, hue1), (chroma2, hue2)) = (polar(one), polar(other));
    let gray = chroma1 * chroma2 == 0.0;
    let lightness = (one.l + other.l) / 2.0;
    let light_scale = 1.0 + 0.015 * (lightness - 50.0).powi(2) / (20.0 + (lightness - 50.0).powi(2)).sqrt();
    let chroma = (chroma1 + chroma2) / 2.0;
    let chroma_scale = 1.0 + 0.045 * chroma;
    let mut turn = hue2 - hue1;
    if turn > 180.0 {
        turn -= 360.0;
    } else if turn < -180.0 {
        turn += 360.0;
    }
    let turn = if gray { 0.0 } else { turn };
    let hue_difference = 2.0 * (chroma1 * chroma2).sqrt() * (turn / 2.0).to_radians().sin();
    let mut hue = hue1 + hue2;
    if !gray && (hue1 - hue2).abs() > 180.0 {
        hue += if hue < 360.0 { 360.0 } else { -360.0 };
    }
    let hue = if gray { hue } else { hue / 2.0 };
    let cosine = |degrees: f64| degrees.to_radians().cos();
    let weight = 1.0 - 0.17 * cosine(hue - 30.0) + 0.24 * cosine(2.0 * hue) + 0.32 * cosine(3.0 * hue + 6.0)
        - 0.20 * cosine(4.0 * hue - 63.0);
    let hue_scale = 1.0 + 0.015 * chroma * weight;
    let rotation = 60.0 * (-(((hue - 275.0) / 25.0).powi(2))).exp();
    let rotation = -2.0 * seventh(chroma) * rotation.to_radians().sin();
    let light = (other.l - one.l) / light_scale;
    let chroma = (chroma2 - chroma1) / chroma_scale;
    let turn = hue_difference / hue_scale;
    (light * light + chroma * chroma + turn * turn + rotation * chroma * turn).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{Lab, Rgb, ciede2000, difference};

    #[test]
    fn differences_are_those_of_the_published_test_data() {
        // Sharma, Wu and Dalal (2005), table 1.
        for (one, other, expected) in [
            ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
            ([50.0, -1.3802, -84.2814], [50.0, 0.0, -82.7485], 1.0000),
            ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
            ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
            ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
        ] {
            let lab = |[l, a, b]: [f64; 3]| Lab { l, a, b };
            let found = ciede2000(lab(one), lab(other));
            assert!((found - expected).abs() < 1e-4, "{found} instead of {expected}");
        }
    }

    #[test]
    fn colours_are_read_and_told_apart() {
        let red = Rgb::parse("FF0000").expect("a colour");
        assert_eq!(red, Rgb([255, 0, 0]));
        assert!(Rgb::parse("FF00000").is_some_and(|color| color == red), "the last part may be longer");
        assert_eq!((Rgb::parse("FF00"), Rgb::parse("red")), (None, None));
        assert!(difference(red, Rgb([252, 0, 0])) < 3.5);
        assert!(difference(red, Rgb([0, 0, 255])) > 3.5);
    }
}
