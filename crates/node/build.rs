//! Puts the built page into the binary: every file of `web/dist`, as it is and compressed with gzip.
//!
//! gzip and not brotli, because browsers ask for brotli over TLS only. Without `web/dist` the table is empty,
//! and the node says how to build the page.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let dist = web.join("dist");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // A watched path that does not exist would make cargo build this crate anew every time.
    let watched = [&dist, &web].into_iter().find(|path| path.exists());
    println!("cargo:rerun-if-changed={}", watched.map_or("build.rs".into(), |path| path.to_string_lossy()));
    println!("cargo:rerun-if-changed=build.rs");

    let mut files = Vec::new();
    if dist.join("index.html").exists() {
        collect(&dist, &mut files)?;
        files.sort();
    }
    let mut table = String::from("static FILES: &[File] = &[\n");
    for (idx, file) in files.iter().enumerate() {
        let name = file.strip_prefix(&dist).expect("it was found in there").to_string_lossy().replace('\\', "/");
        table.push_str(&row(&name, file, &out.join(format!("{idx}.gz")))?);
    }
    table.push_str("];\n");
    fs::write(out.join("page_files.rs"), table)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The literal of one `File`; writes its compressed form to `compressed`.
fn row(name: &str, file: &Path, compressed: &Path) -> io::Result<String> {
    let bytes = fs::read(file)?;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&bytes)?;
    fs::write(compressed, encoder.finish()?)?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
    // Vite puts a hash of the content into the names of what it puts there.
    let is_hashed = name.starts_with("assets/");
    let mut row = String::from("    File {\n");
    let fields = [
        ("path", format!("{path:?}")),
        ("content_type", format!("{:?}", content_type(name))),
        ("etag", format!("{:?}", format!("W/\"{:016x}\"", hasher.finish()))),
        ("is_hashed", is_hashed.to_string()),
        ("plain", format!("include_bytes!({:?})", fs::canonicalize(file)?)),
        ("gzip", format!("include_bytes!({compressed:?})")),
    ];
    for (field, value) in fields {
        writeln!(row, "        {field}: {value},").expect("a string takes any text");
    }
    row.push_str("    },\n");
    Ok(row)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
