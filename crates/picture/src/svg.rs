//! A picture as SVG 1.1.

use std::fmt::Write;

use text::markup;

use crate::{Anchor, Colour, Picture, Place, Shape};

/// The PNG's font first, then what is as wide on machines without it.
const FONTS: &str = "'DejaVu Sans', Verdana, sans-serif";

impl Picture {
    /// Returns the picture as the text of an SVG file.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let Self { width, height, shapes } = self;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for shape in shapes {
            write_shape(&mut svg, shape).expect("a String takes everything");
        }
        svg + "</svg>\n"
    }
}

fn write_shape(svg: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Line { places, colour, width, is_dashed } => {
            svg.push_str("<polyline points=\"");
            write_places(svg, places)?;
            let dash = if *is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
            writeln!(svg, "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dash}/>", hex(*colour))
        }
        Shape::Area { places, colour } => {
            svg.push_str("<polygon points=\"");
            write_places(svg, places)?;
            writeln!(svg, "\" fill=\"{}\"/>", hex(*colour))
        }
        Shape::Disc { centre: Place { x, y }, radius, colour } => {
            writeln!(svg, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" fill=\"{}\"/>", hex(*colour))
        }
        Shape::Words { text, at: Place { x, y }, size, colour, anchor, is_upward } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let turn = if *is_upward { format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"") } else { String::new() };
            let (fill, text) = (hex(*colour), markup(text));
            writeln!(
                svg,
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" fill=\"{fill}\" text-anchor=\"{anchor}\"{turn}>{text}</text>"
            )
        }
    }
}

fn write_places(svg: &mut String, places: &[Place]) -> std::fmt::Result {
    for (idx, Place { x, y }) in places.iter().enumerate() {
        write!(svg, "{}{x:.2},{y:.2}", if idx == 0 { "" } else { " " })?;
    }
    Ok(())
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_shape_is_an_element() {
        let mut picture = Picture::blank(40.0, 30.0);
        let (from, to) = (Place { x: 1.0, y: 2.0 }, Place { x: 3.5, y: 4.0 / 3.0 });
        picture.shapes.push(Shape::Line { places: vec![from, to], colour: Colour::FIT, width: 1.5, is_dashed: true });
        picture.shapes.push(Shape::Area { places: vec![from, to, Place { x: 1.0, y: 4.0 }], colour: Colour::GRID });
        picture.shapes.push(Shape::Disc { centre: to, radius: 2.0, colour: Colour::DATA });
        picture.write("a < b & \u{1}c", from, 12.0);
        expect![[r##"
            <svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" viewBox="0 0 40 30" font-family="'DejaVu Sans', Verdana, sans-serif">
            <rect width="40" height="30" fill="#ffffff"/>
            <polyline points="1.00,2.00 3.50,1.33" fill="none" stroke="#c2410c" stroke-width="1.5" stroke-dasharray="5 4"/>
            <polygon points="1.00,2.00 3.50,1.33 1.00,4.00" fill="#e3e6ea"/>
            <circle cx="3.50" cy="1.33" r="2" fill="#1f5fa8"/>
            <text x="1.00" y="2.00" font-size="12" fill="#2b2f36" text-anchor="start">a &lt; b &amp; �c</text>
            </svg>
        "##]]
        .assert_eq(&picture.to_svg());
    }
}
